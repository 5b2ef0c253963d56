/**
 * Cookies and local storage. They grant access to accounts: their values stay in the conversation's own folder, and the
 * model
 * gets everything else. Values left out are restored when the model sends the storage back. Source: agent-core.md 8.10.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import type { BrowserContext } from 'playwright-core'
import { Refusal } from '../refusal.ts'
import type { ToolContext } from '../tool.ts'

/** Placeholder of a stored value. */
export const KEPT = '[kept]'

const Entry = z.object({ name: z.string(), value: z.string() })
const StorageState = z.object({
  cookies: z
    .array(
      Entry.extend({
        domain: z.string(),
        path: z.string().default('/'),
        expires: z.number().default(-1),
        httpOnly: z.boolean().default(false),
        secure: z.boolean().default(false),
        sameSite: z.enum(['Strict', 'Lax', 'None']).default('Lax'),
      }),
    )
    .default([]),
  origins: z.array(z.object({ origin: z.string(), localStorage: z.array(Entry).default([]) })).default([]),
})
type StorageState = z.infer<typeof StorageState>

/** Returns the storage without its values, and stores these. */
export async function readStorage(browser: BrowserContext, context: ToolContext): Promise<StorageState> {
  const state = StorageState.parse(await browser.storageState())
  const path = pathOf(context)
  const values = {
    ...(await keptValues(path)),
    ...Object.fromEntries(entries(state).map(({ key, entry }) => [key, entry.value])),
  }
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  await writeFile(path, JSON.stringify(values), { mode: 0o600 })
  const shown = structuredClone(state)
  for (const { entry } of entries(shown)) entry.value = KEPT
  return shown
}

/** Replaces the storage. @throws Refusal for an invalid storage, or a placeholder without a stored value. */
export async function writeStorage(
  browser: BrowserContext,
  given: unknown,
  context: ToolContext,
): Promise<StorageState> {
  const { success, data: state, error } = StorageState.safeParse(given)
  if (!success) {
    const [issue] = error.issues
    throw new Refusal(`storage_state cannot be used: ${[...(issue?.path ?? []), issue?.message].join(': ')}`)
  }
  const kept = await keptValues(pathOf(context))
  for (const { key, entry } of entries(state)) {
    if (entry.value !== KEPT) continue
    const value = kept[key]
    if (value === undefined) throw new Refusal(`No value is kept for ${entry.name}. Give its value, or leave it out.`)
    entry.value = value
  }
  await browser.setStorageState(state)
  return state
}

/** Returns every entry with a unique key. */
function entries({ cookies, origins }: StorageState): { key: string; entry: { name: string; value: string } }[] {
  return [
    ...cookies.map((entry) => ({ key: JSON.stringify(['cookie', entry.domain, entry.path, entry.name]), entry })),
    ...origins.flatMap(({ origin, localStorage }) =>
      localStorage.map((entry) => ({ key: JSON.stringify(['local', origin, entry.name]), entry })),
    ),
  ]
}

const pathOf = ({ dataDir }: ToolContext): string => join(dataDir, 'browser', 'storage.json')

async function keptValues(path: string): Promise<Record<string, string>> {
  try {
    return z.record(z.string(), z.string()).parse(JSON.parse(await readFile(path, 'utf8')))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {}
    throw error
  }
}
