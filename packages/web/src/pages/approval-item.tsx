import type { WaitingAction } from '@parley/protocol'
import { textOfAction } from '../lib/action-text.ts'
import { en } from '../words/en.ts'

/** Lines of an action that the queue shows; the conversation shows all of them. */
const LINES = 12

/** One action of a batch: its tool, risk, summary and text. */
export function ApprovalItem({ action }: { action: WaitingAction }) {
  const lines = textOfAction(action).split('\n')
  const hidden = lines.length - LINES
  return (
    <div className="queue-action">
      <p className="queue-head">
        <span className={`risk risk-${action.risk.toLowerCase()}`}>{en.approvals.risk(action.risk)}</span>
        <span className="queue-tool">{action.tool_name}</span>
        {action.summary !== null && <span className="queue-summary">{action.summary}</span>}
      </p>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a region that scrolls is reached with the keyboard */}
      <pre tabIndex={0}>
        {lines.slice(0, LINES).join('\n')}
        {hidden > 0 && <em>{`\n${en.approvals.more(hidden)}`}</em>}
      </pre>
    </div>
  )
}
