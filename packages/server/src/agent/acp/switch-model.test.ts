/** A switch that nobody answers; the others are shown end to end. Source: agent-core.md 11.9 (5). */
import { mkdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { ACPAgent, asConversationId, replay } from '@parley/protocol'
import { expect, test } from 'vitest'
import type { AcpScript } from '../../../testing/scripted-acp-agent.ts'
import { tempDir } from '../../../testing/temp.ts'
import { openLocalWorkspaces } from '../../workspace/index.ts'
import { Hold } from './hold.ts'
import { switchModel } from './switch-model.ts'

const AGENT = fileURLToPath(new URL('../../../testing/scripted-acp-agent.ts', import.meta.url))
const conversationId = asConversationId('switching')
const log = { warn: () => undefined, error: () => undefined }
const models = { currentModelId: 'default', availableModels: [{ modelId: 'default', name: 'Default' }] }

test('without an answer in time nothing changes here, and the next switch that is answered counts', async () => {
  await using dir = await tempDir()
  mkdirSync(dir.file('work'))
  const file = dir.file('agent.json')
  const script: AcpScript = { session: { models }, ignores: 'session/set_model' }
  writeFileSync(file, JSON.stringify(script))
  await using workspaces = openLocalWorkspaces({ dataDir: dir.file('server'), idleExitMs: 200 })
  const never = new AbortController().signal
  const spec = { conversationId, workingDir: dir.file('work'), epoch: 1 }
  await using workspace = await workspaces.open(spec, never)
  await using hold = new Hold({
    conversationId,
    workspace,
    dataDir: dir.file('data'),
    secrets: () => Promise.resolve({ names: [], values: {} }),
    seal: (text) => text,
    unseal: (text) => text,
    log,
  })
  const agent = ACPAgent.parse({ acp_command: [process.execPath, AGENT], acp_args: [file] })
  await hold.start(agent, replay([]), false, never)
  const late = switchModel(hold, 'other', null, 300)
  await expect(late).rejects.toMatchObject({ code: 'timed_out', message: /did not answer within 0.3 s/ })
  expect(hold.held?.session.models.current).toBe('default')

  writeFileSync(file, JSON.stringify({ session: { models } }))
  await hold.start(agent, replay([]), false, never)
  expect((await switchModel(hold, 'other', null))?.models.current).toBe('other')
  expect(hold.held?.session.models.current).toBe('other')
}, 60_000)
