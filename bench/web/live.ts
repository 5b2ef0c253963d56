/** What happens in an open conversation: stored events and a streamed answer. */
import type { Page } from 'playwright-core'
import { say, startConversation } from '../../test/web/talk.ts'
import { row, type Row } from '../fleet/place.ts'
import { quantile } from '../harness.ts'
import { openPage, openPlace, type Place } from './place.ts'

const MESSAGES = 50
/** Pieces of the streamed answer; at most 200 a second, because each one waits 5 ms. */
const PIECES = 1_000

export async function live(): Promise<Row[]> {
  await using place = await openPlace()
  const id = await startConversation(place.server, place.talk)
  await say(place.server, id, 'Say hello', 'finished')
  const page = await openPage(place, `/c/${id}`)
  await page.locator('.row[data-seq]').first().waitFor()
  return [
    row('event stored to screen: p95', await shown(place, page, id), 40, 'ms'),
    ...(await streamed(place, page, id)),
  ]
}

/** From the answer to a stored message to the frame that shows it, both on the clock of the machine. */
async function shown({ server }: Place, page: Page, id: string): Promise<number> {
  const times: number[] = []
  for (let at = 0; at < MESSAGES; at += 1) {
    const text = `message number ${at}.`
    const seen = page.evaluate<number>(`new Promise((resolve) => {
      const look = () => document.querySelector('.timeline').textContent.includes('${text}')
        ? resolve(performance.timeOrigin + performance.now()) : requestAnimationFrame(look)
      look()
    })`)
    await server.call('POST', `/api/conversations/${id}/events`, { content: [{ type: 'text', text }], run: false })
    const stored = performance.timeOrigin + performance.now()
    times.push(Math.max(0, (await seen) - stored))
  }
  return quantile(times, 0.95)
}

async function streamed({ server, talk }: Place, page: Page, id: string): Promise<Row[]> {
  const text = Array.from({ length: PIECES }, (_, at) => `${at % 40 === 39 ? '\n\n' : ''}word${at % 10} `).join('')
  talk.answers = () => ({ text, chunkSize: 6, chunkDelayMs: 5 })
  await page.evaluate(`{
    const figures = (globalThis.figures = { gaps: [], tasks: 0 })
    new PerformanceObserver((list) => { figures.tasks += list.getEntries().length }).observe({ type: 'longtask' })
    let last = performance.now()
    const look = (now) => { figures.gaps.push(now - last); last = now; requestAnimationFrame(look) }
    requestAnimationFrame(look)
  }`)
  await say(server, id, 'Write a long answer', 'finished')
  const { gaps, tasks } = await page.evaluate<{ gaps: number[]; tasks: number }>('globalThis.figures')
  return [
    row('streaming, a piece every 5 ms: frame gap p95', quantile(gaps, 0.95), 17, 'ms'),
    row('streaming, a piece every 5 ms: long tasks', tasks, 0, 'tasks'),
  ]
}
