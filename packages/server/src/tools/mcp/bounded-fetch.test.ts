import { testFetch } from '../../../testing/requests.ts'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { boundedFetch } from './bounded-fetch.ts'

const RULED = Array.from({ length: 50 }, (_, n) => `data: ${n}\n\n`)
const ENDLESS = Array.from({ length: 50 }, () => 'data: xxxxxxxxxxxxxxxx\n')

test.each([
  ['a stream of small messages passes, however long it is', RULED, true],
  ['a message that does not end is cut off', ENDLESS, false],
])('%s', async (_, chunks, passes) => {
  const server = createServer((_request, response) => {
    for (const chunk of chunks) response.write(chunk)
    response.end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    const { port } = server.address() as AddressInfo
    const answer = await boundedFetch(testFetch, 200)(`http://127.0.0.1:${port}`)
    if (passes) expect(await answer.text()).toBe(chunks.join(''))
    else await expect(answer.text()).rejects.toThrow('larger than 200 bytes')
  } finally {
    server.close()
  }
})
