import { expect, test } from 'vitest'
import type { Process } from '../../workspace/index.ts'
import { pipeTransport } from './pipe-transport.ts'

test('code that waits for one message runs before the next one of the same chunk is delivered', async () => {
  const chunk = new TextEncoder().encode('{"id":1}\0{"id":2}\0{"id":3}\0')
  const stdout = new ReadableStream<Uint8Array>({
    start: (controller) => {
      controller.enqueue(chunk)
      controller.close()
    },
  })
  const order: string[] = []
  const transport = pipeTransport({ stdin: new WritableStream(), stdout } as Process)
  const closed = Promise.withResolvers<void>()
  transport.onclose = () => closed.resolve()
  transport.onmessage = (message) => {
    const { id } = message as { id: number }
    order.push(`delivered ${id}`)
    // As a reader does that awaits an answer, in several steps.
    void Promise.resolve()
      .then(() => undefined)
      .then(() => undefined)
      .then(() => order.push(`handled ${id}`))
  }
  await closed.promise
  expect(order).toEqual(['delivered 1', 'handled 1', 'delivered 2', 'handled 2', 'delivered 3', 'handled 3'])
})
