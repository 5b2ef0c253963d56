/** What happens to the records of calls while no server uses them. */
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { Ledger, LEDGER_FILE } from '../../../packages/server/src/workspace/runner/ledger/ledger.ts'

type Places = {
  /** The data directory. */
  data: string
  /**
   * Copies of the data directory: `early`, of its runner from before the last start; `crash`, of the moment of the crash;
   * `running`, of its store while the calls were under way.
   */
  copy: (name: 'early' | 'crash' | 'running') => string
  /** A folder that is not used otherwise. */
  scratch: string
}

const WEEK_MS = 7 * 24 * 60 * 60 * 1_000
const STORE = ['parley.db', 'parley.db-wal', 'parley.db-shm']

const runnerOf = ({ data }: Pick<Places, 'data'>): string => join(data, 'runner')
/** Path of the call ledger. */
export const ledgerOf = (places: Pick<Places, 'data'>): string => join(runnerOf(places), LEDGER_FILE)

export type Records =
  | 'intact'
  | 'aged'
  | 'missing'
  | 'removed'
  | 'cut'
  | 'damaged'
  | 'foreign'
  | 'older'
  | 'newer'
  | 'copied'
  | 'alone'

export const RECORDS: Record<Records, (places: Places) => void | Promise<void>> = {
  intact: () => undefined,
  aged: (places) => {
    const path = ledgerOf(places)
    const aged = readFileSync(path, 'utf8').replaceAll(/"at":(\d+)/g, (_, at) => `"at":${Number(at) - WEEK_MS}`)
    writeFileSync(path, aged.replaceAll(/,"crc":"\w+"}/g, '}'))
    ageFiles(places.data)
  },
  missing: (places) => rmSync(runnerOf(places), { recursive: true }),
  removed: (places) => rmSync(ledgerOf(places)),
  cut: (places) => truncateSync(ledgerOf(places), lastIntent(places) + 25),
  damaged: (places) => {
    const bytes = readFileSync(ledgerOf(places))
    bytes.fill('#', lastIntent(places) + 25, lastIntent(places) + 35)
    writeFileSync(ledgerOf(places), bytes)
  },
  // Only the ledger is exchanged: the mark may be the same by chance, because both directories count their starts.
  foreign: async (places) => {
    mkdirSync(places.scratch, { recursive: true })
    const other = new Ledger(places.scratch)
    await other.begin('conversation-of-another-directory', 'call', true)
    other.close()
    cpSync(join(places.scratch, LEDGER_FILE), ledgerOf(places))
  },
  older: (places) => {
    rmSync(runnerOf(places), { recursive: true })
    copyTree(places.copy('early'), runnerOf(places))
  },
  newer: (places) => putStoreBack(places, 'crash'),
  copied: (places) => putStoreBack(places, 'running'),
  alone: ({ data }) => {
    for (const name of readdirSync(data))
      if (![...STORE, 'secret-key'].includes(name)) rmSync(join(data, name), { recursive: true })
  },
}

function putStoreBack({ data, copy }: Places, name: 'crash' | 'running'): void {
  for (const file of STORE) {
    rmSync(join(data, file), { force: true })
    if (existsSync(join(copy(name), file))) cpSync(join(copy(name), file), join(data, file))
  }
}

/** Position of the newest line that announces a call. */
function lastIntent(places: Places): number {
  const text = readFileSync(ledgerOf(places), 'latin1')
  return text.lastIndexOf('{"t":"begin"')
}

function ageFiles(folder: string): void {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    const stat = lstatSync(path)
    if (stat.isDirectory()) ageFiles(path)
    if (stat.isDirectory() || stat.isFile()) utimesSync(path, stat.atime, new Date(stat.mtime.getTime() - WEEK_MS))
  }
}

/** Copies folders and files; sockets and pipes are left out. */
export function copyTree(from: string, to: string): void {
  cpSync(from, to, {
    recursive: true,
    filter: (path) => {
      const stat = lstatSync(path)
      return stat.isDirectory() || stat.isFile() || stat.isSymbolicLink()
    },
  })
}
