/** Loading of pages with an empty cache. */
import { say, startConversation } from '../../test/web/talk.ts'
import { row, type Row } from '../fleet/place.ts'
import { median } from '../harness.ts'
import { openPage, openPlace, RUNS } from './place.ts'

/** Milliseconds from the navigation to the first paint. */
const FIRST_PAINT = `new Promise((resolve) => {
  new PerformanceObserver((list) => {
    const paint = list.getEntriesByName('first-contentful-paint')[0]
    if (paint) resolve(paint.startTime)
  }).observe({ type: 'paint', buffered: true })
})`

export async function load(): Promise<Row[]> {
  await using place = await openPlace()
  const id = await startConversation(place.server, place.talk)
  await say(place.server, id, 'Say hello', 'finished')
  const paints: number[] = []
  const interactive: number[] = []
  for (let run = 0; run < RUNS; run += 1) {
    const home = await openPage(place, '/')
    paints.push(await home.evaluate<number>(FIRST_PAINT))
    await home.context().close()
    const page = await openPage(place, `/c/${id}`)
    await page.locator('.row[data-seq]').first().waitFor()
    await page.getByRole('textbox', { name: 'Message' }).waitFor()
    interactive.push(await page.evaluate<number>('performance.now()'))
    await page.context().close()
  }
  return [
    row('cold first paint', median(paints), 200, 'ms'),
    row('conversation route interactive', median(interactive), 500, 'ms'),
  ]
}
