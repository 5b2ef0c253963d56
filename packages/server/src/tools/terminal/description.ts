/** Description of the terminal for the model. */

export const DESCRIPTION = `Runs commands in a bash shell that lasts for the whole conversation: the working directory, variables, functions and background jobs stay from one call to the next.

How it works:
- A command may be one line or many: lists, pipes, loops, functions and here-documents are all fine, and nothing needs to be escaped for this tool. It runs in the directory that the last command left.
- The answer comes when the command ends, with its output and exit code. Escape sequences are removed, and a progress bar is shown in its last state.
- A command that prints nothing for about 30 seconds, or is not done after \`timeout\` seconds, is not stopped: you get its output so far, exit code -1, and it goes on. Then
  - an empty \`command\` waits and shows what is new; each silent wait doubles the 30 seconds, and \`timeout\` sets the seconds yourself,
  - \`is_input: true\` types \`command\` into it, followed by Enter; or presses one key: C-c (interrupt), C-d (end of input), C-z, any other C-<letter>, ENTER, TAB, ESC, BS, UP, DOWN, LEFT, RIGHT, HOME, END, PGUP, PGDN,
  - any other command is refused until it has ended.
- Give \`timeout\` for what takes long without a word, such as builds and test runs, and for what you expect to stay, such as a program that asks questions.
- Start servers and other things that never end in the background, with their output in a file: \`npm run dev > /tmp/dev.log 2>&1 &\`.
- \`reset: true\` ends everything that runs in the shell and starts a new one, in the workspace; use it when the shell does not react to C-c.

Good habits: use absolute paths and avoid \`cd\` where you can; leave \`exit\` and \`set -e\` to scripts, because they end the shell; commands that would open a pager or an editor need their option for plain output. Output over 30000 characters is cut in the middle; the whole of it is then in a file that the answer names.

A secret that the conversation has is set as an environment variable for a command that contains its name, and only for that command.`

export const PARAMETERS: Record<string, unknown> = {
  type: 'object',
  properties: {
    command: {
      type: 'string',
      description:
        'The command to run, of one or more lines. Empty: wait for and show new output of the command that is still running. With is_input: the text or the name of the key to send to it.',
    },
    is_input: {
      type: 'boolean',
      default: false,
      description: 'Send `command` to the running program instead of running it as a command.',
    },
    timeout: {
      type: 'number',
      minimum: 0,
      description:
        'Seconds after which you get control back whether or not the command prints; it goes on. Without it, 30 seconds of silence give control back.',
    },
    reset: {
      type: 'boolean',
      default: false,
      description: 'Start a new shell first; what runs in the old one is ended. Not together with is_input.',
    },
  },
  required: ['command'],
}
