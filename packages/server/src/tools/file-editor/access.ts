/** Checks paths for the editor and reads files. */
import type { FileEditorAction } from '@parley/protocol'
import { basename, dirname, isAbsolute, join, relative } from 'node:path'
import { isInside } from '../../lib/index.ts'
import { hasImageName, shrinkCommand } from '../../llm/index.ts'
import type { FileStat } from '../../workspace/index.ts'
import type { ToolContext } from '../tool.ts'
import { Refusal } from '../refusal.ts'
import { decode, type Decoded } from './text.ts'

const MAX_FILE_BYTES = 10 * 1024 * 1024
const MAX_IMAGE_BYTES = 20 * 1024 * 1024

/** @throws Refusal when the path is not absolute, is outside (`confine`), or does not fit the command. */
export async function checkPath(
  { command, path }: FileEditorAction,
  confine: boolean,
  { workspace, signal }: ToolContext,
): Promise<void> {
  if (!isAbsolute(path)) {
    const joined = workspace.resolve(path)
    const hint = (await workspace.stat(joined, signal)) === null ? '' : ` Did you mean ${joined}?`
    throw new Refusal(`The path ${path} is not absolute; it must start with \`/\`.${hint}`)
  }
  if (confine) await expectInside(path, workspace, signal)
  if (command === 'create') return
  const stat = await workspace.stat(path, signal)
  if (stat === null) throw new Refusal(`The path ${path} does not exist. Give a valid path.`)
  if (stat.kind === 'directory' && command !== 'view')
    throw new Refusal(`${path} is a directory; only view works on directories.`)
  if (stat.kind === 'other') throw new Refusal(`${path} is neither a file nor a directory.`)
}

/**
 * The deepest existing part of the path decides: the target of a symlink counts, not the spelling.
 * @throws Refusal for an absolute path that leads out of the working directory.
 */
export async function expectInside(
  path: string,
  workspace: ToolContext['workspace'],
  signal: AbortSignal,
): Promise<void> {
  const { workingDir } = workspace
  if (workspace.realPath === undefined)
    throw new Refusal('Operation not allowed: this workspace cannot tell where a path leads.')
  const root = await workspace.realPath(workingDir, signal)
  let known = path
  let real = await workspace.realPath(known, signal)
  while (real === null && known !== dirname(known)) {
    const parent = dirname(known)
    real = await workspace.realPath(parent, signal)
    // A symlink without a target: writing through it would create the target.
    const names = real === null ? [] : await workspace.list(real, signal)
    if (names.some(({ name }) => name === basename(known))) throw outside(path, workingDir)
    known = parent
  }
  if (!isInside(root ?? workingDir, join(real ?? known, relative(known, path)))) throw outside(path, workingDir)
}

/** @throws Refusal when the path does not exist. */
export async function existing(path: string, { workspace, signal }: ToolContext): Promise<FileStat> {
  const stat = await workspace.stat(path, signal)
  if (stat === null) throw new Refusal(`The path ${path} does not exist. Give a valid path.`)
  return stat
}

/** Returns the bytes of a file. @throws Refusal when it is too large. */
export async function readWithin(
  path: string,
  { size }: FileStat,
  { workspace, signal }: ToolContext,
): Promise<Uint8Array> {
  if (!hasImageName(path) || size > MAX_IMAGE_BYTES) expectFits(path, size)
  return workspace.readFile(path, signal)
}

/** Returns the bytes of a file; null when there is none. */
export async function readIfThere(path: string, { workspace, signal }: ToolContext): Promise<Uint8Array | null> {
  return (await workspace.stat(path, signal)) === null ? null : workspace.readFile(path, signal)
}

/** Returns the text of a file. @throws Refusal for a binary one. */
export function decoded(path: string, bytes: Uint8Array): Decoded {
  const result = decode(bytes)
  if (result === null) throw new Refusal(`${path} is a binary file; only text files can be viewed and edited.`)
  return result
}

/** @throws Refusal for a file too large to be viewed or edited. */
export function expectFits(path: string, bytes: number): void {
  if (bytes <= MAX_FILE_BYTES) return
  if (hasImageName(path))
    throw new Refusal(
      `${path} is too large: ${bytes} bytes, and at most ${MAX_IMAGE_BYTES} of an image can be viewed. Make it smaller, for example with \`${shrinkCommand(path)}\`.`,
    )
  const limit = `at most ${MAX_FILE_BYTES} can be viewed or edited`
  throw new Refusal(`${path} is too large: ${bytes} bytes, and ${limit}. Use the terminal.`)
}

const outside = (path: string, workingDir: string): Refusal =>
  new Refusal(`Operation not allowed: ${path} lies outside the working directory ${workingDir}.`)
