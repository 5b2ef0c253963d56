/** The sums of all calls by model. */
import type { ModelUsage } from '@parley/protocol'
import { amountOf, moneyOf } from '../../timeline/format.ts'
import { usage as words } from '../../words/usage.en.ts'
import { Table } from './table.tsx'

export function Models({ models }: { models: readonly ModelUsage[] }) {
  if (models.length === 0) return null
  return (
    <Table
      title={words.models}
      columns={[words.model, words.calls, words.shortRead, words.cached, words.shortWritten, words.cost]}
      rows={models.map(({ model, calls, tokens, cost, unpriced_calls }) => ({
        key: model,
        cells: [
          model,
          words.count(calls),
          amountOf(tokens.prompt_tokens),
          amountOf(tokens.cache_read_tokens),
          amountOf(tokens.completion_tokens),
          unpriced_calls === calls ? words.unknownPrice : moneyOf(cost),
        ],
      }))}
    />
  )
}
