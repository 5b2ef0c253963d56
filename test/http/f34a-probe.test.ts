import { test } from 'vitest'
import { startBench, KEY } from '../agent-server/setup.ts'
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
test('probe', async () => {
  await using server = await startBench()
  const body = Buffer.alloc(60 * 1024 * 1024, 97)
  for (const path of ['/api/conversations', '/api/secrets', '/api/nowhere'])
  for (let i = 0; i < 5; i++) {
    try {
      const a = await fetch(server.url + path, { method: 'POST', headers: { 'X-Session-API-Key': KEY, 'content-type': 'application/json' }, body })
      console.log(path, a.status, await a.text().catch(e => e))
    } catch (e) { console.log(path, String(e), String((e as any).cause?.code ?? (e as any).cause)) }
  }
  const f = server.dir.file('big'); writeFileSync(f, body)
  for (let i = 0; i < 3; i++) try { console.log(execFileSync('curl', ['-sS', '-o', '/dev/null', '-w', '%{http_code} %{size_upload}', '-H', 'X-Session-API-Key: ' + KEY, '-H', 'content-type: application/json', '--data-binary', '@' + f, server.url + '/api/conversations'], { encoding: 'utf8' })) } catch (e) { console.log(String(e)) }
  for (let i = 0; i < 3; i++) try { console.log(execFileSync('curl', ['-sS', '-o', '/dev/null', '-w', '%{http_code} %{size_upload}', '-H', 'X-Session-API-Key: ' + KEY, '-H','Expect:', '-H', 'transfer-encoding: chunked', '-H', 'content-type: application/json', '--data-binary', '@' + f, server.url + '/api/conversations'], { encoding: 'utf8' })) } catch (e) { console.log(String(e)) }
}, 120000)
