function __vaultmem
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    @PROGRAM@ complete fish $before[2..-1] "$current" 2>/dev/null
end
@ALIAS@complete -c vaultmem -f -k -a '(__vaultmem)'
