/**
 * Downloads one image, for models that do not accept image addresses.
 *
 * Invariants
 *   I1. No byte is sent to an address that the agents refuse, also after a redirect.
 *   I2. A download that is no image, too large or too slow is aborted; nothing of it is kept.
 */
import { clientOf, type Agents } from '../../egress/index.ts'
import { timeoutSignal } from '../../lib/index.ts'
import { ofBytes } from './byte-source.ts'
import { factsOf, type OtherFile } from './file-facts.ts'

const MAX_IMAGE_BYTES = 20 * 1024 * 1024
const MAX_REDIRECTS = 3
const TIMEOUT_MS = 15_000
/** What a server sends in place of an image that it does not have. */
const NO_IMAGES: ReadonlySet<OtherFile> = new Set(['empty', 'html', 'text', 'unknown'])

/** Returns the image as a data URL. Rejects with the reason when there is none. */
export async function fetchImage(url: URL, signal: AbortSignal, agents: Agents): Promise<string> {
  const own = AbortSignal.any([signal, timeoutSignal(TIMEOUT_MS)])
  const fetch = clientOf({ agents })
  let at = url
  for (let hops = 0; hops <= MAX_REDIRECTS; hops++) {
    const answer = await fetch(at, { signal: own, headers: { accept: 'image/*' } })
    const location = answer.headers.get('location')
    if (answer.status < 300 || answer.status >= 400 || location === null) return await dataUrl(answer)
    await answer.body?.cancel()
    at = new URL(location, at)
  }
  throw new Error('too many redirects')
}

/** The content decides whether it is an image, and which. One that models cannot see is refused later, with the reason. */
async function dataUrl(answer: Response): Promise<string> {
  try {
    if (answer.status !== 200) throw new Error(`the server answered with ${answer.status}`)
    const chunks: Uint8Array[] = []
    let size = 0
    for await (const chunk of answer.body ?? []) {
      size += chunk.length
      if (size > MAX_IMAGE_BYTES) throw new Error(`it is larger than ${MAX_IMAGE_BYTES} bytes`)
      chunks.push(chunk)
    }
    const bytes = Buffer.concat(chunks)
    const facts = factsOf(ofBytes(bytes))
    if (facts.kind === 'other' && NO_IMAGES.has(facts.file)) throw new Error(`it is no image (${facts.file})`)
    const type = facts.kind === 'image' ? facts.type : 'application/octet-stream'
    return `data:${type};base64,${bytes.toString('base64')}`
  } finally {
    // The stream is locked and ended where it was read.
    await answer.body?.cancel().catch(() => undefined)
  }
}
