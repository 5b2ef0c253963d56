import type { ApprovalAction } from '../api/queries.ts'
import { en } from '../words/en.ts'

/** Lines of an action that the queue shows; the conversation shows all of them. */
const LINES = 12

/** One action of a batch: its tool, risk, summary and text. */
export function ApprovalItem({ action }: { action: ApprovalAction }) {
  const risk = action.security_risk ?? 'UNKNOWN'
  const lines = textOf(action.action).split('\n')
  const hidden = lines.length - LINES
  return (
    <div className="queue-action">
      <p className="queue-head">
        <span className={`risk risk-${risk.toLowerCase()}`}>{en.approvals.risk(risk)}</span>
        <span className="queue-tool">{action.tool_name}</span>
        {action.summary != null && <span className="queue-summary">{action.summary}</span>}
      </p>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a region that scrolls is reached with the keyboard */}
      <pre tabIndex={0}>
        {lines.slice(0, LINES).join('\n')}
        {hidden > 0 && <em>{`\n${en.approvals.more(hidden)}`}</em>}
      </pre>
    </div>
  )
}

/** The command of an action that has one, otherwise its members. */
function textOf(action: ApprovalAction['action']): string {
  if (action === undefined) return ''
  if (typeof action['command'] === 'string' && typeof action['path'] !== 'string') return action['command']
  return Object.entries(action)
    .filter(([name, value]) => name !== 'kind' && value !== null)
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join('\n')
}
