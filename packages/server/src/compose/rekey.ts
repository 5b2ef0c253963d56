/**
 * Replaces the sealing key of a data directory. Source: docs/operations.md, Replacing the sealing key.
 *
 * Invariants
 *   Y1. No server uses the directory meanwhile, and none starts.
 *   Y2. The store is sealed with one key at any time. The new key is on disk before the store is sealed with it, and the earlier one
 *       is removed after that. What a kill leaves behind is settled by the next start, or by repeating the command.
 */
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { invalidInput, ParleyError } from '@parley/protocol'
import type { Config } from '../config/index.ts'
import { syncFolders } from '../lib/index.ts'
import {
  makeNextKeyFile,
  makeResealer,
  makeSalt,
  openCipher,
  openStoreCipher,
  sealTest,
  settleKeyFile,
  withServerCredential,
} from '../secrets/index.ts'
import { compactStore, lockDataDir, resealStore, sealTestOf } from '../storage/index.ts'
import { expectFileStore } from './expect-file-store.ts'
import { backUp, type BackupReport } from './backup/back-up.ts'
import { STORE } from './backup/contents.ts'

export type RekeyRequest = {
  /** The text of the new key, which the operator will configure; null: a new key file. */
  newKey: string | null
  /** Absolute path of a new folder for a backup; its key is copied to the same path with `.key`. Null: no backup. */
  backup: string | null
  progress: (step: RekeyStep) => void
}

/** What is done, in this order; `table` for every table of the store. */
export type RekeyStep =
  | { kind: 'backed_up'; report: BackupReport }
  | { kind: 'key_written' }
  | { kind: 'table'; table: string }
  | { kind: 'committed' }

export type RekeyReport = {
  keyId: string
  /** Values that are sealed with the new key, and values that the earlier key did not open. */
  resealed: number
  unreadable: number
  /** Where the new key is; null: the operator has it. */
  keyFile: string | null
  /** Null; or why free space of the store may still contain values under the earlier key. */
  notCompacted: string | null
}

type RekeyConfig = Pick<Config, 'dataDir' | 'databaseUrl' | 'secretKey' | 'llm'>

/**
 * Seals everything in the store with a new key.
 * @throws ParleyError `not_found` without a store, `conflict` while a server uses it, `invalid_input` for an unusable new key,
 * `unavailable` when the key is not the one of the store. Until the step `committed` the store has the earlier key.
 */
export async function rekey(config: RekeyConfig, request: RekeyRequest): Promise<RekeyReport> {
  const { dataDir, secretKey } = config
  const { newKey, progress } = request
  expectFileStore('secrets rekey', config.databaseUrl, 'the sealing key of a database cannot be replaced yet')
  const store = join(dataDir, STORE)
  if (!existsSync(store))
    throw new ParleyError(
      'not_found',
      `there is no store ${store}; name the data directory of a server with --data-dir`,
    )
  expectUsable(secretKey, newKey)
  await using _lock = await lockDataDir(dataDir)

  const keyFile = join(dataDir, 'secret-key')
  const test = sealTestOf(store)
  await settleKeyFile(keyFile, test)
  const keyText = secretKey === null ? {} : { keyText: secretKey }
  const earlier = await openStoreCipher(test, { ...keyText, keyFile, replaces: false })
  if (request.backup !== null) {
    const target = request.backup
    const key = secretKey === null ? `${target}.key` : null
    progress({ kind: 'backed_up', report: await backUp(config, { target, keyFile: key, withWorkspaces: false }) })
  }

  const salt = makeSalt()
  const nextFile = newKey === null ? await makeNextKeyFile(keyFile) : keyFile
  const next = await openCipher({
    ...(newKey === null ? {} : { keyText: newKey }),
    keyFile: nextFile,
    mayCreate: false,
    salt,
  })
  progress({ kind: 'key_written' })
  const resealer = makeResealer(withServerCredential(earlier, config.llm.apiKey), next)
  resealStore(store, {
    ...resealer,
    test: sealTest(next, salt),
    progress: (table) => progress(table === null ? { kind: 'committed' } : { kind: 'table', table }),
  })
  if (newKey === null) await settleKeyFile(keyFile, test)
  else if (secretKey === null) await removeKeyFile(keyFile, dataDir)
  const notCompacted = compacted(store)
  return { keyId: next.keyId, ...resealer.counts, keyFile: newKey === null ? keyFile : null, notCompacted }
}

/** The key is replaced by now, so a full disk is reported and does not fail the command. */
function compacted(store: string): string | null {
  try {
    compactStore(store)
    return null
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

function expectUsable(secretKey: string | null, newKey: string | null): void {
  if (newKey === null && secretKey !== null)
    throw invalidInput(
      'the sealing key is given by PARLEY_SECRET_KEY: write a new text into a file, name it with --new-key FILE, and set ' +
        'PARLEY_SECRET_KEY to that text afterwards; make one with: openssl rand -base64 32',
    )
  if (newKey !== null && newKey.trim() === '')
    throw invalidInput('the file of --new-key is blank; write a text into it')
  if (newKey !== null && newKey === secretKey)
    throw invalidInput('the file of --new-key contains the key that the store has already')
}

/** The key of the earlier file opens nothing any more. */
async function removeKeyFile(keyFile: string, dataDir: string): Promise<void> {
  await rm(keyFile, { force: true })
  await syncFolders(dataDir)
}
