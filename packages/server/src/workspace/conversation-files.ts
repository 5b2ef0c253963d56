/**
 * Files of a conversation that no command reads: they are sealed rows of the store, so that any process which owns the conversation
 * has them.
 *
 * Invariants
 *   F1. Only the owner of a conversation writes its files.
 *   F2. A file in the folder of the conversation, as version 0.1.0 wrote it, becomes rows when it is first read; it is removed after the
 *       rows are durable.
 * Source: docs/operations.md, The data directory.
 */
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { ConversationId } from '@parley/protocol'
import type { Cipher } from '../secrets/index.ts'
import type { ConversationFile, ConversationFileStore, NoteOwner } from '../storage/index.ts'

/** UTF-16 units of a part: sealed, it has at most 1 MiB, whatever its characters. */
const PART_CHARS = 250_000

/** Files of one conversation. */
export interface ConversationFiles {
  /** Null when there is none. @throws Error for a part that cannot be unsealed; ParleyError. */
  read(name: string): Promise<string | null>
  /** Stores a file, and replaces the one of the same name. Resolves when it is durable. @throws ParleyError */
  write(name: string, text: string): Promise<void>
}

/** The files of a conversation, for its owner. */
export type OpenConversationFiles = (owner: NoteOwner) => ConversationFiles

export type ConversationFilesDeps = {
  files: ConversationFileStore
  cipher: Pick<Cipher, 'seal' | 'open'>
  /** Returns the conversation's folder, in which version 0.1.0 kept the files. */
  folderOf: (id: ConversationId) => string
}

export function openConversationFiles({ files, cipher, folderOf }: ConversationFilesDeps): OpenConversationFiles {
  return (owner) => {
    const write = (name: string, text: string) => files.put(owner, sealedFile(name, text, cipher))
    return {
      write,
      async read(name) {
        const parts = await files.get(owner.id, name)
        if (parts !== null) return parts.map((part) => cipher.open(part)).join('')
        const path = join(folderOf(owner.id), name)
        const text = await readIfThere(path)
        if (text === null) return null
        await write(name, text)
        await rm(path, { force: true })
        return text
      },
    }
  }
}

/** A text as the store keeps it. */
export function sealedFile(name: string, text: string, cipher: Pick<Cipher, 'seal'>): ConversationFile {
  const parts: string[] = []
  for (let from = 0; from < text.length;) {
    let to = Math.min(text.length, from + PART_CHARS)
    // The two halves of a character outside of the basic plane stay together: half of one has no bytes.
    if (to < text.length && isHighSurrogate(text.charCodeAt(to - 1))) to -= 1
    parts.push(cipher.seal(text.slice(from, to)))
    from = to
  }
  return { name, parts: parts.length === 0 ? [cipher.seal('')] : parts }
}

const isHighSurrogate = (code: number): boolean => code >= 0xd800 && code <= 0xdbff

async function readIfThere(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}
