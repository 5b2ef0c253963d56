import { createConversation, openBench, residentMb, Turns } from './harness.ts'

const CREATED = 10_000
const WORKED = 1_000
/** Conversations that are created, or that run a turn, at the same time. */
const AT_ONCE = 10
const REST_MS = 40_000
/** Conversations before the measurement: what the first ones load, every server needs. */
const FIRST = 20

/** Memory that a server keeps of conversations which it has created, and of those which have run one turn. */
export async function created(): Promise<Record<string, number>> {
  const added = async (
    count: number,
    of: (bench: Awaited<ReturnType<typeof openBench>>, at: number) => Promise<void>,
  ) => {
    await using bench = await openBench()
    for (let at = 0; at < FIRST; at++) await of(bench, at)
    const { pid } = bench.server.process
    const before = await settled(pid!)
    for (let at = FIRST; at < FIRST + count; at += AT_ONCE)
      await Promise.all(Array.from({ length: AT_ONCE }, (_, index) => of(bench, at + index)))
    return (await settled(pid!)) - before
  }
  return {
    'memory added by creating 10000 conversations (MB)': await added(CREATED, async (bench, at) => {
      await createConversation(bench, `created-${at}`)
    }),
    'memory added by one turn of 1000 conversations (MB)': await added(WORKED, async (bench, at) => {
      using turns = await Turns.open(bench.server, await createConversation(bench, `worked-${at}`))
      await turns.turn()
    }),
  }
}

/** Resident memory after a rest, in which idle conversations leave and the engine returns the memory of garbage. */
async function settled(pid: number): Promise<number> {
  await new Promise((resolve) => setTimeout(resolve, REST_MS))
  return residentMb(pid)
}
