/** The calls of models, newest first. */
import type { UsageCall } from '@parley/protocol'
import { timeOf } from '../../log/read.ts'
import { amountOf, clockOf, durationOf, fullTimeOf, moneyOf } from '../../timeline/format.ts'
import { usage as words } from '../../words/usage.en.ts'
import { Table } from './table.tsx'

export function Calls({ calls }: { calls: readonly UsageCall[] }) {
  if (calls.length === 0) return null
  return (
    <Table
      title={words.eachCall}
      columns={[words.model, words.shortRead, words.cached, words.shortWritten, words.cost, words.took]}
      rows={calls.map((call) => ({ key: call.seq, cells: cellsOf(call) }))}
    />
  )
}

function cellsOf({ at, usage_id, model, tokens, cost, latency }: UsageCall) {
  const time = timeOf(at)
  return [
    <span key="model" className="usage-model">
      {model}
      <small>
        {usage_id} ·{' '}
        <time dateTime={`${at}Z`} title={fullTimeOf(time)}>
          {clockOf(time)}
        </time>
      </small>
    </span>,
    amountOf(tokens.prompt_tokens),
    amountOf(tokens.cache_read_tokens),
    amountOf(tokens.completion_tokens),
    cost === null ? words.unknownPrice : moneyOf(cost),
    latency === null ? words.several : durationOf(latency * 1000),
  ]
}
