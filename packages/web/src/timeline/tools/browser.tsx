/** Actions in the agent's browser. */
import { Globe } from '../../ui/icons.ts'
import { textOf } from '../../log/read.ts'
import { Output } from '../../text/output.tsx'
import { conversation as words } from '../../words/conversation.en.ts'
import type { Call } from '../call.ts'
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
  Body: BrowserBody,
}

function BrowserBody({ call }: { call: Call }) {
  const data = textOf(call.observation['screenshot_data'])
  const image = data === '' || data.startsWith('data:') ? data : `data:image/png;base64,${data}`
  return (
    <>
      {/^data:image\/(?:png|jpeg|webp);base64,/.test(image) ? (
        <img className="screenshot" src={image} alt={words.screenshot} />
      ) : null}
      {call.output === '' ? null : <Output text={call.output} label={words.resultOf(call.tool)} />}
    </>
  )
}
