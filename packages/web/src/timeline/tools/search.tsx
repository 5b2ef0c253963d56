/** Looking for files and text. */
import { Search } from '../../ui/icons.ts'
import { listOf, textOf } from '../../log/read.ts'
import { Output } from '../../text/output.tsx'
import { conversation as words } from '../../words/conversation.en.ts'
import type { Call } from '../call.ts'
import type { ToolView } from './view.ts'

const hitsOf = ({ observation }: Call): readonly string[] =>
  listOf(observation['matches'] ?? observation['files']).map(textOf)

export const search: ToolView = {
  icon: Search,
  summary: (call) => ({
    verb: call.kind === 'ListDirectoryAction' ? words.listed : words.searched,
    object: [textOf(call.action['pattern']), textOf(call.action['path']) || textOf(call.action['dir_path'])]
      .filter(Boolean)
      .join(words.within),
    isCode: true,
    facts: call.answer === undefined || call.kind === 'ListDirectoryAction' ? null : words.hits(hitsOf(call).length),
  }),
  Body: ({ call }) => <Output text={hitsOf(call).join('\n') || call.output} label={words.resultOf(call.tool)} />,
}
