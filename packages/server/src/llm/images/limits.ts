/** What vendors accept, as data. Source: docs/models.md, Images. */
import type { ModelApi } from '../models/hosts.ts'
import type { ImageType } from './file-facts.ts'

export type ImageLimits = {
  types: ReadonlySet<ImageType>
  /** Characters of base64 of one image. */
  chars: number
  /** Characters of base64 of all images of a request; the rest of the request needs room, too. */
  requestChars: number
  /** Pixels on the longer side; null: the vendor makes images smaller itself. `many`: with more images in a request than `above`. */
  side: { few: number; many: number; above: number } | null
  /** Images of a request. */
  count: number
}

const MIB = 1024 * 1024

/**
 * 5 MB of base64, 8,000 pixels, 2,000 with more than 20 images, 100 images for a window of 200,000 tokens, 32 MB for a request.
 * Source: https://platform.claude.com/docs/en/build-with-claude/vision, https://github.com/anthropics/claude-code/issues/2939
 */
const ANTHROPIC: ImageLimits = {
  types: new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']),
  chars: 5 * MIB,
  requestChars: 24 * MIB,
  side: { few: 8000, many: 2000, above: 20 },
  count: 100,
}

/**
 * 20 MB for an image, 50 MB for a request, 500 images. Also for servers of other vendors, whose limits are unknown.
 * Source: https://platform.openai.com/docs/guides/images-vision
 */
const OPENAI: ImageLimits = {
  types: new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']),
  chars: 20 * MIB,
  requestChars: 40 * MIB,
  side: null,
  count: 500,
}

/**
 * No GIF, 3,600 images, 20 MB for a request with inline data.
 * Source: https://ai.google.dev/gemini-api/docs/image-understanding
 */
const GEMINI: ImageLimits = {
  types: new Set(['image/png', 'image/jpeg', 'image/webp']),
  chars: 14 * MIB,
  requestChars: 15 * MIB,
  side: null,
  count: 3600,
}

/** @param isClaude the model is one of Anthropic's, which other vendors offer in other APIs */
export function imageLimits(api: ModelApi, isClaude: boolean): ImageLimits {
  if (isClaude) return ANTHROPIC
  return api === 'google' ? GEMINI : OPENAI
}

/** Every image is made at most this large before it is sent: all vendors accept that, with any number of images. */
export const SENT_SIDE = 2000
/** Bytes of one image: less than 5 MB of base64. */
export const SENT_BYTES = 3_700_000
