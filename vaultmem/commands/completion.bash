_vaultmem() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do COMPREPLY+=("$line"); done \
        < <(@PROGRAM@ complete bash "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    [[ ${COMPREPLY[0]} == */ ]] && compopt -o nospace 2>/dev/null
    return 0
}
@ALIAS@complete -F _vaultmem vaultmem@NAME@
