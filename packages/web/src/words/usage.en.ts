/** Texts of the tab about usage in English. */
const integer = new Intl.NumberFormat('en')
const percent = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 0 })

const count = (number: number) => integer.format(number)

export const usage = {
  label: 'Usage of this conversation',
  empty: 'No model has been called yet',
  emptyText: 'Tokens and costs appear here with the first answer.',
  count,
  cost: 'Cost',
  read: 'Tokens read',
  written: 'Tokens written',
  calls: 'Calls',
  cachedShare: (share: number) => `${percent.format(share)} from the cache`,
  reasoningTokens: (number: number) => `${count(number)} of them reasoning`,
  withSubAgents: (number: number) =>
    number === 1 ? 'with the work of 1 sub-agent' : `with the work of ${count(number)} sub-agents`,
  unpriced: (number: number) =>
    number === 1 ? 'The price of 1 call is not known.' : `The price of ${count(number)} calls is not known.`,
  unknownPrice: 'unknown',
  models: 'By model',
  model: 'Model',
  shortRead: 'Read',
  cached: 'Cached',
  shortWritten: 'Written',
  eachCall: 'Calls, newest first',
  took: 'Took',
  several: 'several calls',
  more: 'Show earlier calls',
} as const
