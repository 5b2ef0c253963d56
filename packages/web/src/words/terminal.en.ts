/** Texts of the tab about commands in English. */
const integer = new Intl.NumberFormat('en')

export const terminal = {
  output: 'Commands and their output',
  empty: 'No command has run yet',
  emptyText: 'What the commands of the agent print appears here.',
  earlier: (count: number) => `Show ${count === 1 ? '1 earlier command' : `${integer.format(count)} earlier commands`}`,
  agent: 'Agent',
  you: 'You',
  runs: 'running',
  exit: (code: number) => `exit ${code}`,
  notLoaded: 'Not loaded yet',
  find: 'Find in the output',
  matches: (count: number) => (count === 1 ? '1 line' : `${integer.format(count)} lines`),
  noMatch: 'No line contains this text.',
  ofLoaded: (count: number) =>
    `Only the ${count === 1 ? 'command' : `${integer.format(count)} commands`} that are shown were searched.`,
  moreMatches: (count: number) => `and ${integer.format(count)} more`,
  prompt: 'Your command',
  placeholder: 'Run a command of your own in the workspace',
  run: 'Run',
  note: 'The agent does not see it, and its policy does not apply.',
  readOnly: 'Your key can read and not run commands.',
  remote: 'The workspace is on another server, where only the agent runs commands.',
  notAnswered: (reason: string) => `The result is not known: ${reason}`,
  outputOf: (command: string) => `Output of ${command.slice(0, 80)}`,
  again: 'Try again',
} as const
