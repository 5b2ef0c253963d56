/** The totals of a conversation, sub-agents included. */
import type { ConversationUsage } from '@parley/protocol'
import { moneyOf } from '../../timeline/format.ts'
import { usage as words } from '../../words/usage.en.ts'

export function Summary({ usage }: { usage: ConversationUsage }) {
  const totals = Object.entries(usage.totals)
  const sum = (count: 'prompt_tokens' | 'completion_tokens' | 'cache_read_tokens' | 'reasoning_tokens') =>
    totals.reduce((total, [, metrics]) => total + (metrics.accumulated_token_usage?.[count] ?? 0), 0)
  const cost = totals.reduce((total, [, metrics]) => total + metrics.accumulated_cost, 0)
  const unpriced = (usage.models ?? []).reduce((total, { unpriced_calls }) => total + unpriced_calls, 0)
  const calls = (usage.models ?? []).reduce((total, model) => total + model.calls, 0)
  const agents = totals.filter(([usageId]) => /^(?:task|delegate):/.test(usageId)).length
  const [read, written] = [sum('prompt_tokens'), sum('completion_tokens')]
  return (
    <>
      <dl className="usage-summary">
        <Figure
          name={words.cost}
          value={cost === 0 && unpriced > 0 ? words.unknownPrice : moneyOf(cost)}
          note={agents === 0 ? '' : words.withSubAgents(agents)}
        />
        <Figure
          name={words.read}
          value={words.count(read)}
          note={read === 0 ? '' : words.cachedShare(sum('cache_read_tokens') / read)}
        />
        <Figure
          name={words.written}
          value={words.count(written)}
          note={sum('reasoning_tokens') === 0 ? '' : words.reasoningTokens(sum('reasoning_tokens'))}
        />
        <Figure name={words.calls} value={words.count(calls)} note="" />
      </dl>
      {unpriced > 0 && <p className="note">{words.unpriced(unpriced)}</p>}
    </>
  )
}

function Figure({ name, value, note }: { name: string; value: string; note: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {value}
        {note !== '' && <small>{note}</small>}
      </dd>
    </div>
  )
}
