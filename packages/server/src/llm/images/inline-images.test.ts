import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { fetchImage, type Allows } from './fetch-image.ts'
import { Images } from './inline-images.ts'
import type { LlmMessage } from '../llm.ts'
import { isPublicAddress } from '../public-address.ts'

const NEVER = new AbortController().signal
const BYTES = Buffer.from('89504e470d0a1a0a', 'hex')
const INLINE = `data:image/png;base64,${BYTES.toString('base64')}`

test.each<[string, boolean]>([
  ['93.184.216.34', true],
  ['2606:2800:220:1:248:1893:25c8:1946', true],
  ['127.0.0.1', false],
  ['10.1.2.3', false],
  ['172.31.255.255', false],
  ['192.168.0.1', false],
  ['169.254.169.254', false],
  ['100.64.0.1', false],
  ['0.0.0.0', false],
  ['224.0.0.1', false],
  ['255.255.255.255', false],
  ['::1', false],
  ['::', false],
  ['fe80::1', false],
  ['fc00::1', false],
  ['::ffff:127.0.0.1', false],
  ['64:ff9b::7f00:1', false],
  ['2002:7f00:1::', false],
  ['localhost', false],
])('%s is public: %s', (address, expected) => {
  expect(isPublicAddress(address)).toBe(expected)
})

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

/** In these tests, this machine counts as the public internet. */
const here: Allows = (address) => address === '127.0.0.1'
const imagesHere = (now?: () => number) =>
  new Images({ fetchImage: (url, signal) => fetchImage(url, signal, here), ...(now === undefined ? {} : { now }) })

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

test.each(['/page', '/gone', '/inward', '/endless'])(
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
    expect(urlsOf(await new Images().inline([messageWith(url)], NEVER))).toEqual([url])
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
