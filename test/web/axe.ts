/** The accessibility checker in a page, injected over the protocol of the browser, so that the policies of the page hold. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
/** WCAG 2.2 AA and what the checker calls good practice. */
const OPTIONS = {
  runOnly: {
    type: 'tag',
    values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
  },
}

type Violation = { id: string; help: string; nodes: { html: string; failureSummary?: string }[] }

/** What the checker finds wrong on the page, each with the first elements. */
export async function axeViolations(page: Page): Promise<string[]> {
  await page.evaluate(source)
  const { violations } = await page.evaluate<{ violations: Violation[] }>(`axe.run(${JSON.stringify(OPTIONS)})`)
  return violations.map(({ id, help, nodes }) => {
    const elements = nodes
      .slice(0, 3)
      .map(({ html, failureSummary }) => `${html.slice(0, 200)} ${failureSummary ?? ''}`)
    return `${id}: ${help}: ${elements.join(' | ')}`
  })
}
