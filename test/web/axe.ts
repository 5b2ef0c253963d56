/** The accessibility checker in a page, injected over the protocol of the browser, so that the policies of the page hold. */
import axe from 'axe-core'
import type { Page } from 'playwright-core'

/** WCAG 2.2 AA and what the checker calls good practice. */
const ALL = {
  type: 'tag',
  values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
}
/** The rules whose result depends on the colours and on the style sheet. */
const OF_COLORS = {
  type: 'rule',
  values: ['color-contrast', 'link-in-text-block', 'target-size', 'scrollable-region-focusable'],
}

type Violation = { id: string; help: string; nodes: { html: string; failureSummary?: string }[] }

/** What the checker finds wrong on the page, each with the first elements: by all rules, or by those of colours. */
export async function axeViolations(page: Page, rules: 'all' | 'colors' = 'all'): Promise<string[]> {
  await page.evaluate(axe.source)
  const options = JSON.stringify({ runOnly: rules === 'all' ? ALL : OF_COLORS, resultTypes: ['violations'] })
  const { violations } = await page.evaluate<{ violations: Violation[] }>(`axe.run(${options})`)
  return violations.map(({ id, help, nodes }) => {
    const elements = nodes
      .slice(0, 3)
      .map(({ html, failureSummary }) => `${html.slice(0, 200)} ${failureSummary ?? ''}`)
    return `${id}: ${help}: ${elements.join(' | ')}`
  })
}
