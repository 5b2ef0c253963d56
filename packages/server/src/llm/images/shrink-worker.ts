/**
 * Makes one image smaller, in a thread of its own: a library in WebAssembly decodes it, so that a hostile image can neither reach the memory of
 * the server nor stop its event loop. The thread gets no environment, and ends after the image.
 *
 * Rules
 *   W1. The result follows from the bytes alone, so that a repeated request has the same prefix.
 *   W2. Memory has a limit: of this WebAssembly, and thereby of all in the process, which has no other.
 */
import { setFlagsFromString } from 'node:v8'
import { parentPort, workerData } from 'node:worker_threads'
import type * as Photon from '@silvia-odwyer/photon-node'
import type { ImageType } from './file-facts.ts'
import { withOrientation } from './orientation.ts'

/** `bytes`: of the result, at most. `side`: its pixels on the longer side, at most. */
export type ShrinkJob = { data: string; type: ImageType; orientation: number; bytes: number; side: number }
export type ShrinkResult = { type: ImageType; data: string; width: number; height: number }

/** 640 MiB; 25 million pixels need 500. */
const MEMORY_PAGES = 10_240
/** Shares of the largest side, tried in this order until the result is small enough. */
const SHARES = [1, 0.7, 0.5, 0.35]
const JPEG_QUALITY = 85

setFlagsFromString(`--wasm-max-mem-pages=${MEMORY_PAGES}`)
const photon: typeof Photon = await import('@silvia-odwyer/photon-node')

/** Null when even the smallest form is too large, and when the library cannot decode the image: it then ends at an instruction of its own. */
function decoded(job: ShrinkJob): ShrinkResult | null {
  try {
    return shrunk(job)
  } catch (error) {
    if (error instanceof Error && error.name === 'RuntimeError') return null
    throw error
  }
}

function shrunk({ data, type, orientation, bytes, side }: ShrinkJob): ShrinkResult | null {
  const image = photon.PhotonImage.new_from_byteslice(Buffer.from(data, 'base64'))
  for (const share of SHARES) {
    const small = scaled(image, Math.floor(side * share))
    const [width, height] = [small.get_width(), small.get_height()]
    // Screenshots and drawings stay exact where that is small enough.
    const exact = type === 'image/jpeg' ? null : small.get_bytes()
    if (exact !== null && exact.length <= bytes) return { type: 'image/png', data: base64(exact), width, height }
    const jpeg = withOrientation(onWhite(small).get_bytes_jpeg(JPEG_QUALITY), orientation)
    if (jpeg.length <= bytes) return { type: 'image/jpeg', data: base64(jpeg), width, height }
  }
  return null
}

function scaled(image: Photon.PhotonImage, side: number): Photon.PhotonImage {
  const factor = side / Math.max(image.get_width(), image.get_height())
  if (factor >= 1) return image
  const [width, height] = [image.get_width(), image.get_height()].map((pixels) =>
    Math.max(1, Math.round(pixels * factor)),
  )
  return photon.resize(image, width!, height!, photon.SamplingFilter.CatmullRom)
}

/** JPEG has no transparency; transparent pixels would show any colour. */
function onWhite(image: Photon.PhotonImage): Photon.PhotonImage {
  const pixels = image.get_raw_pixels()
  let isOpaque = true
  for (let at = 3; at < pixels.length; at += 4) {
    const alpha = pixels[at]!
    if (alpha === 255) continue
    isOpaque = false
    for (let channel = at - 3; channel < at; channel++)
      pixels[channel] = Math.round((pixels[channel]! * alpha + 255 * (255 - alpha)) / 255)
    pixels[at] = 255
  }
  return isOpaque ? image : new photon.PhotonImage(pixels, image.get_width(), image.get_height())
}

const base64 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')

parentPort!.postMessage(decoded(workerData as ShrinkJob))
