"""scikit-learn: the arrays of an estimator are exchanged after each partial_fit."""

import numpy as np
from sklearn.linear_model import SGDClassifier

import gossiptrainer

x = np.random.default_rng(1).normal(size=(1000, 8))
y = (x[:, :4].sum(1) > 0).astype("int64")
clf = SGDClassifier(loss="log_loss", random_state=1)
clf.partial_fit(x[:20], y[:20], classes=[0, 1])

peer = gossiptrainer.join((clf.coef_, clf.intercept_))
x, y = peer.part(x), peer.part(y)
for start in range(0, len(x), 20):
    clf.partial_fit(x[start:start + 20], y[start:start + 20])
    clf.coef_, clf.intercept_ = peer.exchange((clf.coef_, clf.intercept_))

clf.coef_, clf.intercept_ = peer.average()
total = clf.coef_.sum() + clf.intercept_.sum()
print(f"worker {peer.rank}: {peer.round} steps, accuracy {clf.score(x, y):.2f}, mean {total:.9f}")
