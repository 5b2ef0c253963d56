/** Messages of the terminal itself, shown in square brackets between the output of programs. */

type Ending = { outcome: 'exited' | 'lost'; exit_code: number | null }

const shortened = (command: string): string => (command.length > 200 ? `${command.slice(0, 200)}…` : command)

export const busy = (command: string): string =>
  `Not executed: the previous command is still running: ${shortened(command)}\n` +
  'Send an empty command to see its further output, use is_input to type into it (C-c interrupts it), ' +
  'or reset to start over with a new shell.'

export const anotherWaits = (command: string): string =>
  `Not executed: another call is waiting for this terminal at this moment: ${shortened(command)}`

export const lineTooLong = (bytes: number): string =>
  `Not sent: a terminal passes on at most ${bytes} bytes of one line. Send shorter lines, or interrupt the program and give ` +
  'it its input from a file.'

export const nothingToLookAt = (): string =>
  'No previous running command to retrieve logs from: nothing runs in this terminal.'

export const nothingToType = (): string =>
  'No previous running command to interact with: nothing runs in this terminal.'

export const inputTooLate = (ending: Ending): string => `Not sent: ${previousEnded(ending).replace(/^T/, 't')}`

export const previousEnded = ({ outcome, exit_code }: Ending): string =>
  outcome === 'exited'
    ? `The previous command has ended with exit code ${exit_code ?? 'unknown'}.`
    : `The shell ended under the previous command, with exit code ${exit_code ?? 'unknown'}. This is a new shell: variables, functions and the working directory of the old one are gone.`

export const continuesElsewhere = (): string =>
  'The command was started by another version of the runner and continues there. Its further output is not available. ' +
  'Use reset to end it.'

export const newShell = (): string =>
  'The shell had ended. This is a new one: variables, functions and the working directory of the old one are gone.'
