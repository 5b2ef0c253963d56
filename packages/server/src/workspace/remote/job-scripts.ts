/** The file `run` of a job on the other server. The secrets of the command are in this file only. */
import { exports, quote, shellLine } from './quote.ts'

export type ProgramJob = { argv: readonly string[]; cwd: string; env: Readonly<Record<string, string>> }

/** Script that replaces its shell by the program. */
export function programScript({ argv, cwd, env }: ProgramJob): string {
  return `{
rm -f -- "$0"
cd -- ${quote(cwd)} || { echo "the working directory "${quote(cwd)}" does not exist" >&2; exit 127; }
${exports(env)}exec -- ${shellLine(argv)}
}
`
}

export type ShellJob = {
  command: string
  env: Readonly<Record<string, string>>
  /** Start directory of a conversation's first command. */
  workingDir: string
  /** Folder of the conversation and of the job. */
  root: string
  folder: string
}

/** Variables that bash sets itself, or that belong to one command. */
const OWN_VARIABLES =
  'BASH*|FUNCNAME|GROUPS|DIRSTACK|PIPESTATUS|EUID|UID|PPID|SHELLOPTS|RANDOM|SRANDOM|SECONDS|EPOCH*|LINENO|HISTCMD|OPT*|' +
  'PWD|OLDPWD|SHLVL|COMP_*|HOSTNAME|HOSTTYPE|MACHTYPE|OSTYPE|PARLEY_REMOTE|_|__parley_*'

/**
 * Script that runs a command line in a bash with the state of the previous one: it restores directory, variables, functions and
 * umask, and saves them afterwards. A command that ends the shell itself (`exit`, `set -e`) leaves the saved state unchanged.
 */
export function shellScript({ command, env, workingDir, root, folder }: ShellJob): string {
  const state = quote(`${root}/state`)
  const isOwn = [OWN_VARIABLES, ...Object.keys(env).filter((name) => /^\w+$/.test(name))].join('|')
  return `{
rm -f -- "$0"
if [ -f ${state} ]; then . ${state}; else cd -- ${quote(workingDir)}; fi
${exports(env)}eval ${quote(command)}
__parley_code=$?
{ set +eufx; } 2> /dev/null
__parley_keep() {
  printf 'umask %s\\ncd -- %q 2> /dev/null || cd -- %q\\n' "$(umask)" "$PWD" ${quote(workingDir)}
  compgen -v | while IFS= read -r __parley_name; do
    case $__parley_name in ${isOwn}) ;; *) declare -p -- "$__parley_name" ;; esac
  done
  declare -F | while read -r _ _ __parley_name; do
    case $__parley_name in __parley_*) ;; *) declare -f -- "$__parley_name" ;; esac
  done
}
__parley_keep > ${state}.new 2> /dev/null && mv -f ${state}.new ${state}
printf %s "$PWD" > ${quote(`${folder}/cwd`)}
exit "$__parley_code"
} 
`
}
