/** The slash commands of the interactive session. */

export const SLASH_COMMANDS = [
  { name: 'help', description: 'show commands and keys' },
  { name: 'model', description: 'show the models, or switch: /model NAME' },
  { name: 'policy', description: 'ask before actions: /policy never, risky or always' },
  { name: 'new', description: 'begin another conversation in this directory' },
  { name: 'resume', description: 'choose an earlier conversation of this directory' },
  { name: 'cost', description: 'show tokens and cost' },
  { name: 'quit', description: 'leave; the conversation is kept' },
] as const
export type SlashCommandName = (typeof SLASH_COMMANDS)[number]['name']

/** Null for text that is a message, such as a path that begins with a slash. */
export function slashCommandOf(text: string): { name: SlashCommandName | null; word: string; rest: string } | null {
  const [, word = '', rest = ''] = /^\/([a-z]+)(?:\s+([\s\S]*))?$/.exec(text) ?? []
  if (word === '') return null
  const name = SLASH_COMMANDS.find((command) => command.name === word)?.name ?? null
  return { name, word, rest: rest.trim() }
}

export const HELP = [
  ...SLASH_COMMANDS.map(({ name, description }) => `  /${name.padEnd(8)} ${description}`),
  '  Enter sends; Shift+Enter, Ctrl+J or a backslash before Enter begins a new line; Tab completes commands and paths.',
  '  Up and Down show earlier messages. Ctrl+C interrupts the run, clears the message, then leaves; Ctrl+D leaves.',
]
