/** The message that asks the agent to commit, and to push. Pure. */
import { handOff as words } from '../../words/hand-off.en.ts'

export function handOffMessage(text: string, pushes: boolean): string {
  const commands = [`git add -A && git commit -m ${quoted(text)}`, ...(pushes ? ['git push -u origin HEAD'] : [])]
  return [pushes ? words.askCommitAndPush : words.askCommit, `\`\`\`sh\n${commands.join(' && ')}\n\`\`\``].join('\n\n')
}

/** A word of the shell that stands for exactly this text. */
const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`
