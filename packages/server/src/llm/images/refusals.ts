/** Texts about files that cannot be shown to a model: what the file is, and what to do. Pure. */
import { shellQuote } from '../../lib/index.ts'
import type { FileFacts, ImageFacts, OtherFile } from './file-facts.ts'
import { SENT_SIDE } from './limits.ts'

const NAMES: Readonly<Record<OtherFile, string>> = {
  empty: 'is an empty file',
  'lfs-pointer': 'is a pointer of Git LFS: a text in place of the file',
  damaged: 'is a damaged image: its first bytes cannot be read',
  bmp: 'is a BMP image',
  tiff: 'is a TIFF image',
  svg: 'is an SVG drawing',
  heic: 'is an HEIC image',
  avif: 'is an AVIF image',
  ico: 'is an ICO image',
  psd: 'is a Photoshop image',
  jxl: 'is a JPEG XL image',
  pdf: 'is a PDF document',
  html: 'is an HTML page',
  text: 'is a text',
  unknown: 'is no image of a known format',
}

/** Programs that write a PNG. `in` and `out` stand for quoted names. */
const CONVERTERS: Readonly<Partial<Record<OtherFile, string>>> = {
  bmp: 'convert in out',
  tiff: 'convert in out',
  ico: 'convert in out',
  psd: 'convert in out',
  jxl: 'djxl in out',
  svg: 'rsvg-convert -o out in',
  heic: 'heif-convert in out',
  avif: 'heif-convert in out',
  pdf: 'pdftoppm -png -r 100 in out',
}

/** The refusal without its subject, for example `is a BMP image, which …`; null for a whole PNG, JPEG, GIF or WebP. */
export function refusalOf(facts: FileFacts, path: string | null): string | null {
  if (facts.kind === 'image') {
    if (facts.isComplete) return null
    const again = path === null ? 'Send the whole file.' : 'Create or copy the file again.'
    return `is a ${nameOf(facts)} image whose end is missing. ${again}`
  }
  return `${NAMES[facts.file]}${CONVERTERS[facts.file] === undefined ? '' : ', which models cannot see'}. ${adviceFor(facts.file, path)}`
}

function adviceFor(file: OtherFile, path: string | null): string {
  if (file === 'lfs-pointer')
    return path === null
      ? 'Run `git lfs pull` in the repository, and send the file again.'
      : 'Run `git lfs pull` to fetch the file.'
  if (path === null) return 'Send a PNG, JPEG, GIF or WebP.'
  const converter = CONVERTERS[file]
  if (converter !== undefined) return `Convert it, for example with \`${commandFor(converter, path, '.png')}\`.`
  return file === 'text' || file === 'html' ? 'Read it with the terminal.' : 'Create or copy the file again.'
}

/** The refusal of an image that is too large and could not be made smaller, without its subject. @param most what the vendor accepts */
export function tooLarge(facts: ImageFacts, bytes: number, most: string, path: string | null): string {
  const size = `has ${facts.width} × ${facts.height} pixels and ${bytes} bytes`
  const command = shrinkCommand(path ?? 'image.png')
  return `${size}, more than ${most}, and could not be made smaller here. Make it smaller, for example with \`${command}\`.`
}

/** The refusal of an image whose format the vendor does not take, without its subject. */
export const notTaken = (facts: ImageFacts): string =>
  `is a ${nameOf(facts)} image, which the vendor of the model does not take, and could not be converted. Send a PNG or JPEG.`

/** A command that writes a smaller form of an image beside it. */
export const shrinkCommand = (path: string): string =>
  commandFor(`convert in -resize '${SENT_SIDE}x${SENT_SIDE}>' out`, path, '.small.jpg')

const commandFor = (command: string, path: string, suffix: string): string =>
  command.replaceAll(/\b(in|out)\b/g, (name) => shellQuote(name === 'in' ? path : path.replace(/\.\w+$/, '') + suffix))

const nameOf = ({ type }: ImageFacts): string =>
  ({ 'image/png': 'PNG', 'image/jpeg': 'JPEG', 'image/gif': 'GIF', 'image/webp': 'WebP' })[type]
