import { randomBytes } from 'node:crypto'
import { AgentBase, type SecretSource } from '@parley/protocol'
import { expect, test } from 'vitest'
import { openCipher } from '../secrets/index.ts'
import { openSqlite } from '../storage/index.ts'
import { openCommandSecrets } from './command-secrets.ts'
import { openConversationSecretAccess } from './conversation-secret-access.ts'
import { openMasking } from './masking.ts'
import { openNamedSecrets } from './secrets.ts'
import { openUserSettings } from './settings.ts'

const log = { warn: () => undefined }

async function openAccess() {
  const storage = await openSqlite({ path: ':memory:' })
  const cipher = await openCipher({
    keyText: randomBytes(32).toString('base64url'),
    keyFile: '/nonexistent/key',
    salt: '',
  })
  const secrets = openNamedSecrets(storage.secrets, cipher)
  const settings = openUserSettings(storage.settings, secrets, cipher)
  const commandSecrets = openCommandSecrets({ secrets, settings, cipher, own: [], log })
  const access = openConversationSecretAccess({ cipher, commandSecrets, hosts: [], log })
  const masking = openMasking(commandSecrets, access)
  return { secrets, access, masking, [Symbol.asyncDispose]: () => storage[Symbol.asyncDispose]() }
}

const own: Record<string, SecretSource> = {
  TOKEN: { kind: 'StaticSecret', value: 'of-the-conversation', description: 'own' },
}

test("a conversation's secret takes precedence over its owner's of the same name", async () => {
  await using at = await openAccess()
  await at.secrets.create('ann', { name: 'TOKEN', value: 'of-the-owner-1', description: 'general' })
  await at.secrets.create('ann', { name: 'OTHER', value: 'of-the-owner-2', description: null })
  const { secrets, secretsFor } = await at.access.ofAgent('ann', () => own)
  expect(secrets).toEqual([
    { name: 'OTHER', description: null },
    { name: 'TOKEN', description: 'own' },
  ])
  expect(await secretsFor('echo $TOKEN')).toEqual({ TOKEN: 'of-the-conversation' })
  expect(await secretsFor('echo $TOKEN $OTHER')).toEqual({ TOKEN: 'of-the-conversation', OTHER: 'of-the-owner-2' })
})

test('secrets of a start request take precedence over those of its agent', async () => {
  await using at = await openAccess()
  const agent = AgentBase.parse({
    kind: 'Agent',
    llm: { model: 'scripted/x' },
    agent_context: { secrets: { A: 'of-the-agent-a', B: 'of-the-agent-b' } },
  })
  const accepted = at.access.ofStart(
    'ann',
    { secrets: { B: 'of-the-request' }, secrets_encrypted: false },
    agent,
    'agent',
  )
  expect(accepted).toMatchObject({ A: { value: 'of-the-agent-a' }, B: { value: 'of-the-request' } })
})

test("masking hides the owner's secrets, the conversation's, its retired ones and credentials of its record", async () => {
  await using at = await openAccess()
  await at.secrets.create('ann', { name: 'OTHER', value: 'of-the-owner-2', description: null })
  const record = {
    secrets: own,
    retired: { secrets: { OLD: 'retired-value' } },
    agent: { llm: { api_key: 'key-of-a-model' } },
  }
  const masker = await at.masking.masker('ann', record)
  const values = ['of-the-owner-2', 'of-the-conversation', 'retired-value', 'key-of-a-model']
  expect(masker.text(values.join(' '))).toBe(values.map(() => '<secret-hidden>').join(' '))
  expect((await at.masking.masker('bob', {})).text('of-the-owner-2')).toBe('of-the-owner-2')
})
