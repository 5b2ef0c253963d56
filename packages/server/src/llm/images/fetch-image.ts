/**
 * Downloads one image, for models that do not accept image addresses.
 *
 * Invariants
 * I1. No byte is sent to an address that is not public: the address is checked when it is connected to, also after a
 *       redirect.
 *   I2. A download that is no image, too large or too slow is aborted; nothing of it is kept.
 */
import { lookup } from 'node:dns'
import type { IncomingMessage } from 'node:http'
import { isIP, type LookupFunction } from 'node:net'
import { nodeHttp, nodeHttps, timeoutSignal } from '../../lib/index.ts'
import { isPublicAddress } from '../public-address.ts'

const MAX_IMAGE_BYTES = 20 * 1024 * 1024
const MAX_REDIRECTS = 3
const TIMEOUT_MS = 15_000
/** Media types that models accept. */
const TYPES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

/** Returns true when an address may be connected to. */
export type Allows = (address: string) => boolean

/** Returns the image as a data URL. Rejects with the reason when there is none. */
export async function fetchImage(url: URL, signal: AbortSignal, allows: Allows = isPublicAddress): Promise<string> {
  const own = AbortSignal.any([signal, timeoutSignal(TIMEOUT_MS)])
  let at = url
  for (let hops = 0; hops <= MAX_REDIRECTS; hops++) {
    const answer = await get(at, own, allows)
    const { statusCode = 0, headers } = answer
    if (statusCode >= 300 && statusCode < 400 && headers.location !== undefined) {
      answer.destroy()
      at = new URL(headers.location, at)
      continue
    }
    return await dataUrl(answer)
  }
  throw new Error('too many redirects')
}

function get(url: URL, signal: AbortSignal, allows: Allows): Promise<IncomingMessage> {
  const refused = (address: string) => new Error(`${address} is not an address on the internet`)
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return Promise.reject(new Error('not an http address'))
  // Node connects to a numeric host without calling `lookup`.
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (isIP(host) !== 0 && !allows(host)) return Promise.reject(refused(host))
  const checked: LookupFunction = (name, options, done) =>
    lookup(name, { ...options, all: true }, (error, found) => {
      const [first] = error === null ? found : []
      const closed = error === null ? found.find(({ address }) => !allows(address)) : undefined
      if (first === undefined || closed !== undefined) return done(error ?? refused(closed?.address ?? name), '', 0)
      if (options.all) done(null, found)
      else done(null, first.address, first.family)
    })
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const { request } = url.protocol === 'https:' ? nodeHttps() : nodeHttp()
  request(url, { lookup: checked, signal, headers: { accept: 'image/*' }, agent: false })
    .once('response', resolve)
    .once('error', reject)
    .end()
  return promise
}

async function dataUrl(answer: IncomingMessage): Promise<string> {
  const type = answer.headers['content-type']?.split(';')[0]?.trim().toLowerCase() ?? ''
  try {
    if (answer.statusCode !== 200) throw new Error(`the server answered with ${answer.statusCode}`)
    if (!TYPES.has(type)) throw new Error(`it is ${type || 'of no type'}, not an image that models take`)
    const chunks: Buffer[] = []
    let size = 0
    for await (const chunk of answer) {
      size += (chunk as Buffer).length
      if (size > MAX_IMAGE_BYTES) throw new Error(`it is larger than ${MAX_IMAGE_BYTES} bytes`)
      chunks.push(chunk as Buffer)
    }
    return `data:${type};base64,${Buffer.concat(chunks).toString('base64')}`
  } finally {
    answer.destroy()
  }
}
