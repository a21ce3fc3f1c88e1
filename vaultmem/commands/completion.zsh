#compdef vaultmem
_vaultmem() {
    local line
    local -a values folders
    while IFS= read -r line; do
        if [[ $line == */ ]]; then folders+=("$line"); else values+=("$line"); fi
    done < <(@PROGRAM@ complete zsh "${(@Q)words[2,CURRENT]}" 2>/dev/null)
    compadd -S '' -- $folders
    _describe -V value values -M 'm:{[:lower:][:upper:]}={[:upper:][:lower:]}'
}
@ALIAS@if [ "$funcstack[1]" = "_vaultmem" ]; then _vaultmem "$@"; else compdef _vaultmem vaultmem@NAME@; fi
