% Multiplies matrices of process.c with Octave. Commands are lines of standard input, answers lines of standard output.
% Octave stores columns. It computes B^T*A^T, whose columns are the rows of C.
crash_dumps_octave_core(false); sighup_dumps_octave_core(false); sigterm_dumps_octave_core(false);
function S = matrix(file, rows, cols, nnz, index, value)
  p = fread(file, rows + 1, [index '=>double']); j = fread(file, nnz, [index '=>double']);
  v = fread(file, nnz, [value '=>double']); i = repelems(1:rows, [1:rows; diff(p)']);
  S = sparse(j + 1, i(:), v, cols, rows);
end
function say(varargin)
  printf(varargin{:}); fflush(stdout);
end
say('ok %s\n', version());
T = [];
while ischar(line = fgetl(stdin))
  word = strsplit(strtrim(line), ' ');
  try
    switch word{1}
    case 'load'
      n = cellfun(@str2double, word(3:end)); kind = {'int32', 'int64'}{n(9) / 4};
      file = fopen(word{2}, 'r'); A = matrix(file, n(2), n(3), n(5), kind, 'double');
      if n(7), B = A; else B = matrix(file, n(3), n(4), n(6), kind, 'double'); end
      fclose(file); say('ok\n');
    case 'run'
      start = tic; T = B * A; us = 1e6 * toc(start); say('ok %.3f\n', us);
    case 'fetch'
      [j, i, v] = find(T); file = fopen(word{2}, 'w');
      fwrite(file, [0; cumsum(accumarray(i(:), 1, [columns(T), 1]))], 'int64');
      fwrite(file, j - 1, 'int64'); fwrite(file, v, 'double'); fclose(file);
      say('ok %d 8 8\n', numel(v));
    otherwise
      T = []; say('ok\n');
    end
  catch fault
    say('no %s\n', strrep(fault.message, "\n", ' '));
  end
end
