# Completion of the weft command for fish, as `weft completion fish` prints it. The candidates come from the command.

function __weft_paths --argument-names typed only_folders
    set -l head (string match --regex -- '^-[^=]*=' $typed; or echo '')
    set -l value (string replace --regex -- '^-[^=]*=' '' $typed)
    for path in (complete --do-complete "'' $value" | string replace --regex '\t.*' '')
        if test "$only_folders" = no; or string match --quiet '*/' $path
            echo $head$path
        end
    end
end

function __weft_candidates
    set -l before (commandline --cut-at-cursor --tokenize --current-process) # without the word at the cursor
    set -l typed (commandline --cut-at-cursor --current-token)
    for line in ($before[1] __complete $before[2..-1] "$typed" 2>/dev/null)
        switch $line
            case ':files'
                __weft_paths "$typed" no
            case ':folders'
                __weft_paths "$typed" yes
            case ':command *'
                set -l first (math (string replace ':command ' '' $line) + 3)
                complete --do-complete (string join ' ' -- (string escape -- $before[$first..-1]) "$typed")
            case '*'
                echo $line
        end
    end
end

complete --command weft --no-files --keep-order --arguments '(__weft_candidates)'
