# Bash reads this before a line whose exit code may hide a failure (see pipeline.py). If the line succeeds although a
# part of it has failed, it says so at its end: by an escape sequence on stderr, which is taken out of the output.
unset BASH_ENV
[[ ! $BASH_EXECUTION_STRING =~ xtrace|set\ +-[a-zA-Z]*x ]] || return # it would be traced
trap '__agent_exec_list=$?' ERR
case $BASH_EXECUTION_STRING in
*for* | *while* | *until*) ;; # a loop would get slower
*"|"*)
    trap '
        __agent_exec=("$?" "${PIPESTATUS[@]}")
        if [[ ${__agent_exec[0]} == 0 && ${#__agent_exec[@]} -gt 2 && ${__agent_exec[*]//141} == *[1-9]* ]]; then
            __agent_exec_pipe=("${__agent_exec[@]:1}")
        elif [[ ${__agent_exec[0]} != 0 && ( $BASH_COMMAND == true || $BASH_COMMAND == : ) ]]; then
            __agent_exec_list=${__agent_exec[0]}
        fi
    ' DEBUG
    ;;
esac
trap '
    __agent_exec=("$?" "${PIPESTATUS[@]}")
    trap - DEBUG
    if [[ ${__agent_exec[0]} == 0 && ( -p /dev/fd/2 || -S /dev/fd/2 || -t 2 ) ]]; then
        [[ ${#__agent_exec[@]} -gt 2 && ${__agent_exec[*]//141} == *[1-9]* ]] ||
            __agent_exec=(0 "${__agent_exec_pipe[@]-${__agent_exec_list-}}")
        [[ -z ${__agent_exec[1]} ]] ||
            { printf "\033]agent-exec;pipeline"; printf ";%d" "${__agent_exec[@]:1}"; printf "\007"; } >&2
    fi
' EXIT
