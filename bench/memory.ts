import { createConversation, median, openBench, residentMb, serve, Turns } from './harness.ts'

const COUNT = 1000
/** Starts whose median counts; a single one differs from the next by half. */
const RESTARTS = 9

/** Memory of a thousand idle conversations, in a server that starts with them stored. */
export async function memory(): Promise<Record<string, number>> {
  await using bench = await openBench()
  const before = await settled(bench.server.process.pid!)
  for (let at = 0; at < COUNT; at += 10) {
    await Promise.all(
      Array.from({ length: 10 }, async (_, index) => {
        const id = await createConversation(bench, `idle-${at + index}`)
        const { status } = await bench.server.call('POST', `/api/conversations/${id}/events`, {
          content: [{ type: 'text', text: 'a message that waits' }],
        })
        if (status !== 200) throw new Error(`a message answered ${status}`)
      }),
    )
  }
  await bench.server[Symbol.asyncDispose]()

  const restart = () => serve(bench.dir.file('data'), { PARLEY_IDLE_UNLOAD_SECONDS: '1' })
  const starts: number[] = []
  for (let round = 1; round < RESTARTS; round++) {
    await using server = await restart()
    starts.push(server.readyMs)
  }
  await using again = await restart()
  starts.push(again.readyMs)
  const stored = await settled(again.process.pid!)
  await using empty = await serve(bench.dir.file('empty'))
  const none = await settled(empty.process.pid!)

  const { body } = await again.call('GET', '/api/conversations/search?limit=1')
  using one = await Turns.open(again, body.items[0].id)
  await one.turn()
  return {
    'memory of an empty server (MB)': none,
    'memory added by 1000 stored conversations (MB)': stored - none,
    'memory before creating them (MB)': before,
    'restart with 1000 stored conversations (ms)': median(starts),
  }
}

/** Resident memory after a short rest, in which most garbage is collected. */
async function settled(pid: number): Promise<number> {
  await new Promise((resolve) => setTimeout(resolve, 2000))
  return residentMb(pid)
}
