import { asConversationId, LLM } from '@parley/protocol'
import { expect, test } from 'vitest'
import { tempDir, type TempDir } from '../../../testing/temp.ts'
import type { LlmCompletion } from '../../llm/index.ts'
import { makeMasker } from '../../secrets/index.ts'
import type { ConversationRecord } from '../record/record.ts'
import { listCompletions } from './completion-files.ts'
import { CompletionLog } from './completion-log.ts'

const COMPLETION: LlmCompletion = {
  config: LLM.parse({ model: 'openai/m' }),
  attempt: 1,
  startedAt: 0,
  latency: 0,
  url: null,
  body: '{}',
  answer: null,
  error: null,
}

/** A log whose completions wait for `release`, and its warnings. */
function logIn(dir: TempDir, { usedUp = null, isClosed = false }: { usedUp?: string | null; isClosed?: boolean } = {}) {
  const gate = Promise.withResolvers<void>()
  const warnings: string[] = []
  const live = {
    id: asConversationId('11111111-2222-4333-8444-555555555555'),
    owner: 'ada',
    masker: () => gate.promise.then(() => makeMasker([])),
    record: () => ({ persistence_dir: 'workspace/conversations' }) as ConversationRecord,
    isClosed: () => isClosed,
    inBackground: <T>(work: (signal: AbortSignal) => Promise<T>) => work(new AbortController().signal),
  }
  const log = new CompletionLog(
    live,
    { watchers: 0, emit: () => undefined },
    {
      storage: { conversations: { countFiles: async () => undefined } },
      folderOf: () => dir.path,
      usedUp: async () => (usedUp === null ? null : { code: usedUp }),
      log: { warn: (fields: unknown) => void warnings.push(String((fields as { err: Error }).err.message)) },
    },
  )
  const files = async () => (await listCompletions(dir.file('completions'))).length
  return { log, warnings, files, release: () => gate.resolve() }
}

test('completions beyond those that wait are left out, which is reported once until one is written', async () => {
  await using dir = await tempDir()
  const { log, warnings, files, release } = logIn(dir)
  for (let n = 0; n < 12; n += 1) log.take(COMPLETION)
  expect(warnings).toEqual(['more completions than can be written'])
  release()
  await log.settled()
  expect(await files()).toBe(8)
  for (let n = 0; n < 9; n += 1) log.take(COMPLETION)
  await log.settled()
  expect(warnings).toHaveLength(2)
})

test.each([
  ['StoredBytesReached', 0, ['the user has no room for stored bytes']],
  ['MonthlyCostReached', 1, []],
])('with %s, %i completions are written', async (usedUp, count, why) => {
  await using dir = await tempDir()
  const { log, warnings, files, release } = logIn(dir, { usedUp })
  release()
  log.take(COMPLETION)
  await log.settled()
  expect([await files(), warnings]).toEqual([count, why])
})

test('a conversation that has left memory writes nothing, because its folder may be removed', async () => {
  await using dir = await tempDir()
  const { log, files, release } = logIn(dir, { isClosed: true })
  release()
  log.take(COMPLETION)
  await log.settled()
  expect(await files()).toBe(0)
})
