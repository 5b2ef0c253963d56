import { createConversation, median, openBench, quantile, Turns } from './harness.ts'

const WARM_UP = 12
const SINGLE = 40
const TOGETHER = 16
const WAVES = 4
const LONG = 100
/** Turns at each end of a long conversation whose median counts; a single one differs from the next by a third. */
const WINDOW = 20

/** Measures turns of six model calls and five commands, with a model that answers at once. */
export async function turns(): Promise<Record<string, number>> {
  await using bench = await openBench()
  const { server } = bench

  const fresh: number[] = []
  for (let round = 0; round < WARM_UP + SINGLE; round++) {
    using conversation = await Turns.open(server, await createConversation(bench, `single-${round}`))
    await conversation.turn()
    fresh.push(await conversation.turn())
  }
  const single = fresh.slice(WARM_UP)

  const many = await Promise.all(
    Array.from({ length: TOGETHER }, async (_, at) =>
      Turns.open(server, await createConversation(bench, `many-${at}`)),
    ),
  )
  await Promise.all(many.map((conversation) => conversation.turn()))
  const waves: { wallMs: number; times: number[] }[] = []
  for (let wave = 0; wave < WAVES; wave++) {
    const from = performance.now()
    const times = await Promise.all(many.map((conversation) => conversation.turn()))
    waves.push({ wallMs: performance.now() - from, times })
  }
  for (const conversation of many) conversation[Symbol.dispose]()
  const all = waves.flatMap(({ times }) => times)

  using long = await Turns.open(server, await createConversation(bench, 'long'))
  const growing: number[] = []
  for (let turn = 0; turn < LONG; turn++) growing.push(await long.turn())
  const early = median(growing.slice(1, WINDOW + 1))
  const late = median(growing.slice(-WINDOW))

  return {
    'one warm turn, p50 (ms)': median(single),
    'one warm turn, p99 (ms)': quantile(single, 0.99),
    'sixteen turns at once (turns/s)': (TOGETHER * 1000) / median(waves.map(({ wallMs }) => wallMs)),
    'sixteen turns at once, slowest / median': Math.max(...all) / median(all),
    'turn 100 / turn 1': late / early,
    'turn 100 (ms)': late,
  }
}
