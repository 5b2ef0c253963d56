/** A table of figures: the first column is text, the others are aligned at the right. */
import { type ReactNode, useId } from 'react'

type Row = { readonly key: string | number; readonly cells: readonly ReactNode[] }

export function Table({ title, columns, rows }: { title: string; columns: readonly string[]; rows: readonly Row[] }) {
  const id = useId()
  return (
    <div className="usage-table">
      <h2 id={id}>{title}</h2>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a region that scrolls is reached with the keyboard */}
      <div className="usage-scroll" role="region" aria-labelledby={id} tabIndex={0}>
        <table>
          <thead>
            <tr>
              {columns.map((column) => (
                <th key={column} scope="col">
                  {column}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ key, cells }) => (
              <tr key={key}>
                {cells.map((cell, index) => (
                  // The columns of a table do not move.
                  // oxlint-disable-next-line react/no-array-index-key
                  <td key={index}>{cell}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  )
}
