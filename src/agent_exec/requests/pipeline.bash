# Bash reads this before a command with a pipe in it (see pipeline.py). If parts of its last pipeline have failed
# although it succeeds, it says so at its end: by an escape sequence on stderr, which is taken out of the output.
unset BASH_ENV
trap '
    __agent_exec=("$?" "${PIPESTATUS[@]}")
    if [[ ${__agent_exec[0]} == 0 && ${__agent_exec[*]} == *[1-9]* && ( -p /dev/fd/2 || -S /dev/fd/2 || -t 2 ) ]]; then
        { printf "\033]agent-exec;pipeline"; printf ";%d" "${__agent_exec[@]:1}"; printf "\007"; } >&2
    fi
' EXIT
