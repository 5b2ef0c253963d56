/** Actions in the agent's browser. */
import { Globe } from '../../ui/icons.ts'
import { textOf } from '../../log/read.ts'
import { conversation as words } from '../../words/conversation.en.ts'
import type { Call } from '../call.ts'
import { lazyBody } from './lazy-body.tsx'
import type { ToolView } from './view.ts'

const actionName = ({ kind }: Call) =>
  kind
    .replace(/^Browser|Action$/g, '')
    .replace(/([a-z])([A-Z])/g, (_, a: string, b: string) => `${a} ${b.toLowerCase()}`)

export const browser: ToolView = {
  icon: Globe,
  summary: (call) => ({
    verb: words.browser,
    object: [actionName(call).toLowerCase(), textOf(call.action['url']) || textOf(call.action['text'])]
      .filter(Boolean)
      .join(' '),
  }),
  Body: lazyBody('BrowserBody'),
}
