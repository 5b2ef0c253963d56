import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { openEgress } from '../../egress/index.ts'
import { bmpOf, dataUrl, pngOf } from '../../../testing/images.ts'
import { Images } from './inline-images.ts'
import type { LlmMessage } from '../llm.ts'

const NEVER = new AbortController().signal
const BYTES = pngOf({ width: 2, height: 2 })
const INLINE = dataUrl('image/png', BYTES)
const BMP = bmpOf({ width: 2, height: 2 })

/** Serves images from this machine. */
async function startImages() {
  const seen: string[] = []
  const server = createServer((request, response) => {
    const path = request.url ?? '/'
    seen.push(path)
    if (path === '/moved') return void response.writeHead(302, { location: '/a.png' }).end()
    if (path === '/inward') return void response.writeHead(302, { location: 'http://[::1]:9/a.png' }).end()
    if (path === '/endless') return void response.writeHead(302, { location: '/endless' }).end()
    if (path === '/page') return void response.writeHead(200, { 'content-type': 'text/html' }).end('<p>')
    if (path === '/gone') return void response.writeHead(404).end()
    if (path === '/untyped') return void response.writeHead(200).end(BYTES)
    if (path === '/jpeg') return void response.writeHead(200, { 'content-type': 'image/jpeg' }).end(BYTES)
    if (path === '/error') return void response.writeHead(200, { 'content-type': 'image/png' }).end('not found')
    if (path === '/bmp') return void response.writeHead(200, { 'content-type': 'image/png' }).end(BMP)
    response.writeHead(200, { 'content-type': 'image/png; q=1' }).end(BYTES)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

/** Of this machine, only the address of the tests' server is allowed. */
const imagesHere = (now?: () => number) => new Images({ agents: agentsOf(['127.0.0.1/32']), ...(now && { now }) })
const agentsOf = (rules: string[]) => openEgress(rules).narrowed.agents({ member: 'image_url' }, {})

const messageWith = (...urls: string[]): LlmMessage => ({
  role: 'user',
  content: [{ type: 'text', text: 'look' }, ...urls.map((url) => ({ type: 'image' as const, url }))],
})
const urlsOf = ([message]: readonly LlmMessage[]) =>
  message!.content.flatMap((part) =>
    (part as { type: string }).type === 'image' ? [(part as unknown as { url: string }).url] : [],
  )

test('an image is downloaded once and put inline, also behind a redirect; the given message is not changed', async () => {
  await using server = await startImages()
  const images = imagesHere()
  const message = messageWith(`${server.url}/a.png`, `${server.url}/moved`, INLINE)
  expect(urlsOf(await images.inline([message], NEVER))).toEqual([INLINE, INLINE, INLINE])
  expect(urlsOf(await images.inline([message], NEVER))).toEqual([INLINE, INLINE, INLINE])
  expect(server.seen.toSorted()).toEqual(['/a.png', '/a.png', '/moved'])
  expect(urlsOf([message])).toEqual([`${server.url}/a.png`, `${server.url}/moved`, INLINE])
})

test('the content of a download decides its type, whatever the server says', async () => {
  await using server = await startImages()
  const message = messageWith(`${server.url}/untyped`, `${server.url}/jpeg`, `${server.url}/bmp`)
  expect(urlsOf(await imagesHere().inline([message], NEVER))).toEqual([
    INLINE,
    INLINE,
    dataUrl('application/octet-stream', BMP),
  ])
})

test.each(['/page', '/error', '/gone', '/inward', '/endless'])(
  '%s keeps its address, and the download is not repeated at once',
  async (path) => {
    await using server = await startImages()
    let now = 0
    const images = imagesHere(() => now)
    const message = messageWith(server.url + path)
    for (let n = 0; n < 2; n++) expect(urlsOf(await images.inline([message], NEVER))).toEqual([server.url + path])
    const asked = server.seen.length
    expect(server.seen.filter((each) => each === path).length).toBeLessThanOrEqual(4)
    now = 10 * 60_000
    await images.inline([message], NEVER)
    expect(server.seen.length).toBe(2 * asked)
  },
)

test.each(['http://127.0.0.1', 'http://localhost', 'http://[::1]', 'http://0x7f.1'])(
  'an image on this machine, addressed as %s, is not downloaded',
  async (host) => {
    await using server = await startImages()
    const url = `${host}:${new URL(server.url).port}/a.png`
    expect(urlsOf(await new Images({ agents: agentsOf(['any']) }).inline([messageWith(url)], NEVER))).toEqual([url])
    expect(server.seen).toEqual([])
  },
)

test('an aborted download does not count as failed', async () => {
  await using server = await startImages()
  const images = imagesHere()
  const message = messageWith(`${server.url}/a.png`)
  await images.inline([message], AbortSignal.abort(new Error('stop')))
  expect(urlsOf(await images.inline([message], NEVER))).toEqual([INLINE])
})
