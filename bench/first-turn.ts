import { createConversation, median, openBench, Turns } from './harness.ts'

const ROUNDS = 5

/** The first turn of a server: six model calls and five commands, with the start of the runner and of the first shell. */
export async function firstTurn(): Promise<Record<string, number>> {
  const times: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    await using bench = await openBench()
    using conversation = await Turns.open(bench.server, await createConversation(bench, 'first'))
    times.push(await conversation.turn())
  }
  return { 'first turn of a server, p50 (ms)': median(times) }
}
