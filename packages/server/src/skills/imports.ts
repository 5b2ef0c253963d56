/**
 * Imports of instruction files: `@path` at the beginning of a line or after a space. The text stays as it is; the imported files
 * follow it. Source: docs/skills.md, Imports.
 *
 * Invariants
 *   I1. A file is imported from the folder that the importing file was read from, under the rules of that folder, or not at all.
 *   I2. A file is imported once for an instruction file, so that a cycle ends.
 *   I3. The work is limited, whatever the files contain: by depth, by number of mentions, and by the bytes that the model gets.
 */
import { dirname, isAbsolute, join, relative } from 'node:path'
import { outsideCode } from '../lib/index.ts'
import type { Folder } from './folder.ts'
import { MAX_INSTRUCTION_BYTES } from './skill-file.ts'

/** Files between an instruction file and one that it imports indirectly, that one included. */
const MAX_DEPTH = 5
/** Mentions that are looked up for one instruction file. */
const MAX_MENTIONS = 100
const MAX_PATH_CHARS = 512
const MENTION = /(?<=^|\s)@((?:[^\s\\]|\\ )+)/gm
/** Ends of sentences and brackets, which may follow a path. */
const PUNCTUATION = /[.,;:!?)\]}'"*_>]+$/
/** Files that may hold credentials; an agent reads them only by its own decision. */
const CREDENTIALS = /(^|[\\/])\.(git|env[^\\/]*)([\\/]|$)/i

export type Imported = {
  /** With the imported files. */
  text: string
  /** Real paths of the imported files. */
  paths: string[]
}

export type ImportOptions = {
  /** Real paths of files that the model gets anyway. */
  skip: ReadonlySet<string>
  /** What `~` stands for. Absent: such paths lead out of the folder. */
  home?: string
}

export async function withImports(
  folder: Folder,
  path: string,
  text: string,
  options: ImportOptions,
): Promise<Imported> {
  const imports = new Imports(folder, options, (await folder.realOf(path)) ?? path)
  await imports.follow(path, text, 0)
  return { text: [text.trim(), ...imports.texts].join('\n\n'), paths: imports.paths }
}

class Imports {
  readonly texts: string[] = []
  readonly paths: string[] = []
  readonly #folder: Folder
  readonly #home: string | undefined
  readonly #seen: Set<string>
  #bytes = 0
  #mentions = 0

  constructor(folder: Folder, { skip, home }: ImportOptions, own: string) {
    this.#folder = folder
    this.#home = home
    this.#seen = new Set([...skip, own])
  }

  /** Adds what a file imports, and what that imports, in the order of the mentions. */
  async follow(path: string, text: string, depth: number): Promise<void> {
    this.#bytes += Buffer.byteLength(text)
    for (const mention of mentionsIn(text)) {
      if (this.#bytes > MAX_INSTRUCTION_BYTES) return
      if (++this.#mentions > MAX_MENTIONS) {
        if (this.#mentions === MAX_MENTIONS + 1)
          this.#folder.note(path, `only ${MAX_MENTIONS} mentions of files are looked up`)
        return
      }
      await this.#import(path, mention, depth + 1)
    }
  }

  async #import(from: string, mention: string, depth: number): Promise<void> {
    const found = await this.#find(dirname(from), mention)
    if (found === null || this.#seen.has(found.real)) return
    const { path, real } = found
    if (depth > MAX_DEPTH) return this.#folder.note(path, `imports deeper than ${MAX_DEPTH} files are left out`)
    const text = await this.#folder.read(path)
    if (text === null) return
    this.#seen.add(real)
    this.paths.push(real)
    this.texts.push(`[Imported from ${this.#folder.at(path)}]\n${text.trim()}`)
    await this.follow(path, text, depth)
  }

  /** The mentioned file: as written, else without the punctuation at its end. */
  async #find(folder: string, mention: string): Promise<{ path: string; real: string } | null> {
    for (const written of new Set([mention, mention.replace(PUNCTUATION, '')])) {
      const path = this.#pathOf(folder, written)
      const real = path === null ? null : await this.#folder.realOf(path)
      if (path === null || real === null) continue
      if (!CREDENTIALS.test(this.#folder.fromRoot(real))) return { path, real }
      this.#folder.note(path, 'it may hold credentials, so that it is not imported')
    }
    return null
  }

  /** The path in the folder, which may lead out of it; null for none. */
  #pathOf(folder: string, written: string): string | null {
    if (written === '' || written.includes('\0')) return null
    const absolute = written.startsWith('~/') && this.#home !== undefined ? join(this.#home, written.slice(2)) : written
    if (isAbsolute(absolute)) return relative(this.#folder.root, absolute)
    if (!absolute.startsWith('~')) return join(folder, absolute)
    this.#folder.note(`@${written}`, 'it leads out of its folder')
    return null
  }
}

/** The paths that a text mentions outside of code, in order; spaces in them are written with a backslash. */
function* mentionsIn(text: string): Generator<string> {
  for (const [, path = ''] of outsideCode(text).matchAll(MENTION))
    if (path.length <= MAX_PATH_CHARS) yield path.replaceAll('\\ ', ' ')
}
