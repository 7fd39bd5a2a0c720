# Prints what zsh shows when Tab is pressed after a line: `zsh -f complete.zsh LINE`, in a folder with the script `_alloquy`.
zmodload zsh/zpty
zpty shell zsh -f -i
say () { zpty -w shell "$1" }
say "PS1=; TERM=dumb; COLUMNS=200; LISTMAX=10000; fpath=($PWD \$fpath)"
say 'autoload -Uz compinit; compinit -u -D; setopt auto_list no_list_ambiguous no_beep'
# The prompt is printed when the line editor waits for keys. The echo of this line has quotes between its letters.
say 'PS1="REA""DY> "'
zpty -r shell line '*READY> *'
zpty -w -n shell "$1"$'\t'
say $'\x15print DO""NE'
while zpty -r shell line; do
    [[ $line == *DONE* ]] && break
    print -r -- "${line//$'\e'\[[0-9;?]#[a-zA-Z]/ }"
done
zpty -d shell
