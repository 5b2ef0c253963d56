import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { CallError } from './errors.ts'
import type { SseFrame } from './sse.ts'
import { follow, type Follow } from './stream.ts'

type Answer = (response: ServerResponse, after: number) => void

/** A server that answers the n-th connection with the n-th answer, and all later ones with the last. */
async function streamServer(...answers: Answer[]) {
  const asked: number[] = []
  const server = createServer((request: IncomingMessage, response) => {
    const after = Number(new URL(request.url!, 'http://x').searchParams.get('after_seq'))
    const answer = answers[Math.min(asked.length, answers.length - 1)]!
    asked.push(after)
    answer(response, after)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    asked,
    url: `http://127.0.0.1:${port}/`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const send = (response: ServerResponse, ...seqs: number[]) => {
  for (const seq of seqs) response.write(`id: ${seq}\nevent: event\ndata: ${seq}\n\n`)
}
const begin = (response: ServerResponse) => response.writeHead(200, { 'content-type': 'text/event-stream' })

/** Reads numbers: a negative one is live only, 99 is the last item. */
const read = ({ data }: SseFrame): ReturnType<Follow<number>['read']> => {
  const item = JSON.parse(data) as number
  return { item, seq: item < 0 ? null : item, isLast: item === 99 }
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const taken: T[] = []
  for await (const item of items) taken.push(item)
  return taken
}

function numbers(url: string, options: Partial<Follow<number>> = {}) {
  return follow<number>({
    open: async (after, signal) => {
      const response = await fetch(`${url}?after_seq=${after}`, { signal }).catch((cause: unknown) => {
        throw new CallError('no answer', { status: null, cause })
      })
      if (!response.ok) throw new CallError('refused', { status: response.status, retryAfterMs: 0 })
      return response.body!
    },
    read,
    after: 0,
    backOff: { firstMs: 1, maxMs: 5 },
    silenceMs: 10_000,
    ...options,
  })
}

test('every item of a stream arrives once and in order over broken connections, repetitions and temporary refusals', async () => {
  await using server = await streamServer(
    (response) => {
      begin(response)
      send(response, 1, 2)
      // The connection breaks in the middle of a frame.
      response.write('id: 3\nevent: event\nda', () => response.destroy())
    },
    (response) => response.writeHead(503).end(),
    (response) => response.destroy(),
    (response) => {
      begin(response)
      send(response, 1, 2, 3, -1, 4)
      response.end()
    },
    (response) => {
      begin(response)
      send(response, 4, 5, 99)
    },
  )
  expect(await all(numbers(server.url))).toEqual([1, 2, 3, -1, 4, 5, 99])
  expect(server.asked).toEqual([0, 2, 2, 2, 4])
})

test('a stream begins after the given position', async () => {
  await using server = await streamServer((response, after) => {
    begin(response)
    send(response, after + 1, 99)
  })
  expect(await all(numbers(server.url, { after: 41 }))).toEqual([42, 99])
})

test('a silent connection of a stream is closed and opened again', async () => {
  await using server = await streamServer(
    (response) => {
      begin(response)
      send(response, 1)
    },
    (response) => {
      begin(response)
      send(response, 99)
    },
  )
  expect(await all(numbers(server.url, { silenceMs: 50 }))).toEqual([1, 99])
})

test('comments keep a connection of a stream without items open', async () => {
  let beats = 0
  await using server = await streamServer((response) => {
    begin(response)
    const timer = setInterval(() => {
      beats += 1
      if (beats < 8) response.write(':\n\n')
      else send(response, 99)
    }, 20)
    response.on('close', () => clearInterval(timer))
  })
  expect(await all(numbers(server.url, { silenceMs: 120 }))).toEqual([99])
  expect(server.asked).toEqual([0])
})

test.each([401, 403, 404, 422])('a refusal with %d ends the stream', async (status) => {
  await using server = await streamServer((response) => response.writeHead(status).end())
  await expect(all(numbers(server.url))).rejects.toMatchObject({ name: 'CallError', status })
  expect(server.asked).toEqual([0])
})

test('a stream with an unreadable frame fails and is not requested again', async () => {
  await using server = await streamServer((response) => {
    begin(response)
    response.write('data: {\n\n')
  })
  await expect(all(numbers(server.url))).rejects.toThrow(SyntaxError)
  expect(server.asked).toEqual([0])
})

test.each<[string, Answer]>([
  ['waits for the next item', (response) => void begin(response)],
  ['waits to try again', (response) => response.destroy()],
])('an abort ends a stream that %s', async (_name, answer) => {
  await using server = await streamServer(answer)
  const controller = new AbortController()
  const signal = controller.signal
  const taken = all(numbers(server.url, { signal, backOff: { firstMs: 60_000, maxMs: 60_000 } }))
  await expect.poll(() => server.asked.length).toBe(1)
  controller.abort(new Error('enough'))
  await expect(taken).rejects.toThrow('enough')
})

test('leaving the loop over a stream closes its connection', async () => {
  const closed = Promise.withResolvers<void>()
  await using server = await streamServer((response) => {
    response.on('close', () => closed.resolve())
    begin(response)
    send(response, 1)
  })
  for await (const item of numbers(server.url)) {
    expect(item).toBe(1)
    break
  }
  await closed.promise
})
