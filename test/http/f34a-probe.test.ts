import { test } from 'vitest'
import { startServerProcess, TEST_KEY } from '../../packages/server/testing/server-process.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
test('probe', async () => {
  await using dir = await tempDir()
  await using server = await startServerProcess({ dataDir: dir.file('data') })
  const body = Buffer.alloc(60 * 1024 * 1024, 97)
  const out: string[] = []
  for (const [path, key] of [['/api/conversations', TEST_KEY], ['/api/secrets', TEST_KEY], ['/api/secrets', 'wrong'], ['/api/file/upload?path=rel', TEST_KEY], ['/api/file/upload?path=rel', 'wrong'], ['/api/nowhere', 'x']] as const)
  for (const kind of ["buffer"])
  for (let i = 0; i < 12; i++) {
    try {
      const a = await fetch(server.url + path, { method: 'POST', headers: { 'X-Session-API-Key': key, 'content-type': 'application/json' }, body: kind === 'buffer' ? body : new Blob([body]).stream(), duplex: 'half' } as never)
      out.push([path, kind, a.status, (await a.text().catch(e => String(e))).slice(0,20)].join(' '))
    } catch (e) { out.push([path, kind, String(e), String((e as any).cause?.code ?? (e as any).cause)].join(' ')) }
  }
  const t = new Map<string, number>(); for (const o of out) t.set(o, (t.get(o) ?? 0) + 1)
  console.log([...t].map(x => x.join(' x')).join('\n'))
}, 120000)
